# SPDX-License-Identifier: Apache-2.0
"""EDF decided from the longest window down: QPA, in few windows.

Zhang and Burns (2009), for one vCPU and likewise for several.
"""

from collections.abc import Sequence

import numpy as np

from nova_rt.model import arrays
from nova_rt.model import edf_demand
from nova_rt.model import jit
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.model import verdict

MAX_STEPS = 100_000
UNDECIDED = -2


def decide_one(tasks: Sequence[tasks_.Task], resource: supply.Resource
         ) -> tuple[int, verdict.Failure | None] | None:
    """Decide one vCPU from the longest window down (Zhang and Burns, 2009).

    If demand in a window is supplied in a shorter one already, nothing fails
    between the two. Their slack is not known.

    :returns: 0 and the longest window that fails, if any; None if it takes too
        many steps
    """
    window = _last_deadline(tasks, edf_demand.last_window(tasks, resource, 0) + 1)
    for _ in range(MAX_STEPS):
        if window is None:
            return 0, None
        needed = sum(edf_demand.dbf(task, window) for task in tasks)
        supplied = resource.sbf(window)
        if supplied < needed:
            index = next(i for i, task in enumerate(tasks)
                         if _last_deadline([task], window + 1) == window)
            return 0, verdict.Failure(index, window, needed, supplied)
        window = _last_deadline(
            tasks, min(window, resource.inverse_sbf(needed)))
    return None


def decide_several(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                 index: int) -> tuple[int, verdict.Failure | None] | None:
    """Decide one task on several vCPUs likewise: its demand does not fall either.

    Between whole windows nothing fails: demand and supply have their break
    points there.
    """
    last = edf_demand.last_window(tasks, resource, index)
    if last * resource.vcpus * len(tasks) >> 50:
        return None
    times = np.array([(task.wcet_us, task.period_us, task.deadline_us)
                      for task in tasks], dtype=np.int64)
    window = int(_last_failure(times, index, resource.vcpus, resource.budget_us,
                               resource.period_us, last, MAX_STEPS))
    if window == UNDECIDED:
        return None
    if window < 0:
        return 0, None
    return 0, verdict.Failure(index, window, edf_demand.demand(
        tasks, index, resource.vcpus, window), resource.sbf(window))


@jit.jit
def _last_failure(tasks: arrays.Ints, own: int, vcpus: int, budget: int, period: int,
                  last: int, steps: int) -> int:
    """Return the longest window up to the last that fails for a task.

    :param tasks: by task, wcet, period and deadline
    :returns: -1 if none fails, UNDECIDED if it takes more steps
    """
    gap = vcpus * period - budget
    carried = np.zeros(max(1, vcpus - 1), dtype=np.int64)
    window = last
    for _ in range(steps):
        if window < tasks[own, 2]:
            return -1
        needed = vcpus * tasks[own, 0]
        carried[:] = 0
        smallest = 0
        for index in range(tasks.shape[0]):
            wcet, every, deadline = tasks[index]
            jobs = max(0, (window + every - deadline) // every)
            inside = jobs * wcet
            whole = inside + min(wcet, max(0, window - jobs * every))
            cap = window - tasks[own, 0]
            if index == own:
                inside -= wcet
                whole -= wcet
                cap = window - deadline
            least = min(inside, cap)
            needed += least
            more = min(whole, cap) - least
            if more > carried[smallest]:
                needed += more - carried[smallest]
                carried[smallest] = more
                smallest = int(carried.argmin())
        usable = vcpus * window - gap
        supplied = 0
        if usable > 0:
            supplied = usable // (vcpus * period) * budget + max(
                0, usable % (vcpus * period) - gap)
        if needed > supplied or needed == supplied == vcpus * window:
            return window
        rounds = -(-needed // budget) - 1
        window = min(window - 1, -(-(
            2 * gap + rounds * vcpus * period + needed - rounds * budget) // vcpus))
    return UNDECIDED


def _last_deadline(tasks: Sequence[tasks_.Task], end_us: int) -> int | None:
    """Return the last deadline before a time, None if there is none."""
    return max((
        (end_us - 1 - task.deadline_us) // task.period_us * task.period_us
        + task.deadline_us for task in tasks if task.deadline_us < end_us),
        default=None)
