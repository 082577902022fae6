# SPDX-License-Identifier: Apache-2.0
"""The doctor: what keeps a host from holding reservations, and what to do."""
