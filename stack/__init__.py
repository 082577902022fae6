# SPDX-License-Identifier: Apache-2.0
"""A real OpenStack on loopback, for the demo and the end-to-end tests.

``python -m stack up`` starts it, ``python -m stack down`` gives everything
back. All data is below one run directory.
"""
