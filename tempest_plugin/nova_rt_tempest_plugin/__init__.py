# SPDX-License-Identifier: Apache-2.0
"""Tempest tests of real-time CPU reservations; only the cloud's APIs are used."""
