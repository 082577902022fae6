# SPDX-License-Identifier: Apache-2.0
"""Periods that are worth trying, and what overhead takes from each."""

# Below 1 ms, context switches eat too much (OpenStack paper, section 4.2.1);
# above 2 s lies the kernel's limit.
ROUND_US = tuple(
    step * decade for decade in (1000, 10_000, 100_000, 1_000_000)
    for step in (1, 2, 5) if step * decade <= 2_000_000)
SHORTEST_US = ROUND_US[0]
