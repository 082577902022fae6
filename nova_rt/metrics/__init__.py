# SPDX-License-Identifier: Apache-2.0
"""What the reservations of this host hold and get, as metrics for Prometheus."""
