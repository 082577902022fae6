# SPDX-License-Identifier: Apache-2.0
"""Sizing: which runtime and period a service or a task set needs.

Pure: no Nova, and no more than NumPy and Numba. Times are integers in µs
wherever a verdict depends on them; the queueing model, whose inputs are
means, uses floats.
"""
