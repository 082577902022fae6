# SPDX-License-Identifier: Apache-2.0
"""What containers got in every window of up to half a second, and what they were promised."""

import numpy as np

from nova_rt.model import supply

LONGEST_US = 500_000
STEP_US = 50
# Of whoever looks, who waits for the servers on his pCPU.
LOOKED_US = 5_000


def late(runtime_us, vcpus):
    """Return what may be counted late, in µs: a budget each, when its turn ends."""
    return vcpus * runtime_us + LOOKED_US


def supplied(runtime_us, period_us, vcpus):
    """Return by window, in steps, what a hog on every vCPU gets at least, in µs."""
    each = supply.Resource(runtime_us, period_us)
    return vcpus * np.array([float(each.sbf(step * STEP_US))
                             for step in range(LONGEST_US // STEP_US + 1)])


def most_lacking(samples, promised):
    """Return the most, in µs, by which a window between two samples has less.

    :param samples: when it was looked and when that ended, and what was used by then, in µs
    """
    began, ended, used = samples.T
    most = 0.0
    for apart in range(1, len(used)):
        # Whoever looks may have to wait while he does.
        windows = began[apart:] - ended[:-apart]
        short = windows <= LONGEST_US
        if not short.any():
            break
        got = (used[apart:] - used[:-apart])[short]
        steps = (windows[short] // STEP_US).clip(0).astype(int)
        most = max(most, float((promised[steps] - got).max()))
    return most
