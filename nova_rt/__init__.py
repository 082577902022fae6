# SPDX-License-Identifier: Apache-2.0
"""Real-time CPU reservations for containers on an OpenStack cloud."""
