# SPDX-License-Identifier: Apache-2.0
"""Real-time CPU reservations for the servers of an OpenStack cloud."""
