# SPDX-License-Identifier: Apache-2.0
"""The tests; each says in a skip what it lacks."""
