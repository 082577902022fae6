# SPDX-License-Identifier: Apache-2.0
"""Explanations: what keeps a server from each host."""
