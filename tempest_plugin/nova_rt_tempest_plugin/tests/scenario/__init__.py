# SPDX-License-Identifier: Apache-2.0
"""What servers with a reservation get."""
