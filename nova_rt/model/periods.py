# SPDX-License-Identifier: Apache-2.0
"""Periods that are worth trying."""

# Below 1 ms, context switches cost too much (OpenStack paper, section 4.2.1);
# the next one after 2 s is longer than the kernel allows.
ROUND_US = tuple(
    step * decade for decade in (1000, 10_000, 100_000, 1_000_000)
    for step in (1, 2, 5) if step * decade <= 2_000_000)
