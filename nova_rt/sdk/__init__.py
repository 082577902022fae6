# SPDX-License-Identifier: Apache-2.0
"""nova-rt's API for programs that use openstacksdk."""
