# SPDX-License-Identifier: Apache-2.0
"""What nova-api loads: extra-spec validators and the paste filter."""
