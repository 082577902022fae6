# SPDX-License-Identifier: Apache-2.0
"""Reservations in descriptors of network functions: TOSCA, Heat, Tacker."""
