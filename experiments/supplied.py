# SPDX-License-Identifier: Apache-2.0
"""Whether the host gave vCPUs what they have reserved.

The analysis of what runs in a guest assumes it. A machine that other work slows down, or
whose own hypervisor takes CPU time, can break it: what is measured meanwhile says nothing
about the analysis.
"""

import numpy as np

from nova_rt.model import supply as model
from stack import supply

WINDOW_US = 1_000_000
# With samples farther apart, nobody knows what was supplied between them.
FARTHEST_US = WINDOW_US // 4
# Supply is looked up for the next shorter multiple of this.
_STEP_US = 100


def shortfall_us(got: supply.Supply, resource: model.Resource, late_us: int) -> int:
    """Return by how much a vCPU had less than reserved in the worst window, in µs.

    Windows begin and end at samples, and last up to a second. The vCPU must have wanted to
    run all the time. All of a second is missing where nobody watched.

    :param late_us: by which a runtime may be late
    """
    times = np.array(got.times_ns) // 1000
    used = np.array(got.used_ns) // 1000
    if np.diff(times).max(initial=0) > FARTHEST_US or times[-1] - times[0] < WINDOW_US:
        return WINDOW_US
    promised = np.array([resource.sbf(max(0, length - late_us))
                         for length in range(0, WINDOW_US + 1, _STEP_US)])
    worst = 0
    for lag in range(1, times.size):
        lengths = times[lag:] - times[:-lag]
        if lengths.min() > WINDOW_US:
            break
        within = lengths <= WINDOW_US
        had = (used[lag:] - used[:-lag])[within]
        worst = max(worst, int((promised[lengths[within] // _STEP_US] - had).max()))
    return worst
