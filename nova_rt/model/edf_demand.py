# SPDX-License-Identifier: Apache-2.0
"""What jobs under global EDF need in a window, and how long the windows are that matter.

Theorem 2 of Easwaran, Shin and Lee (2009); on one vCPU Shin and Lee (2003).
"""

from collections.abc import Sequence
from fractions import Fraction
import functools
import math

import numpy as np
import numpy.typing as npt

from nova_rt.model import supply
from nova_rt.model import tasks as tasks_

Times = npt.NDArray[np.int64]

# Steps of the search for the longest busy period.
MAX_STEPS = 100_000


def dbf(task: tasks_.Task, window_us: int) -> int:
    """Return what must end in a window at whose end a deadline is, in µs."""
    jobs = (window_us + task.period_us - task.deadline_us) // task.period_us
    return max(0, jobs) * task.wcet_us


def demand(tasks: Sequence[tasks_.Task], index: int, vcpus: int,
           window_us: int) -> int:
    """Return the supply in µs that task ``index`` needs in one window.

    Plain integers, one window: what :func:`nova_rt.model.edf.analyse` does for many at once.
    """
    return int(demands(tasks, index, vcpus,
                        np.array([window_us], dtype=np.int64))[0])


def demands(tasks: Sequence[tasks_.Task], index: int, vcpus: int,
             windows: Times) -> Times:
    own = tasks[index]
    column = windows[np.newaxis, :]
    wcet = _column([task.wcet_us for task in tasks])
    period = _column([task.period_us for task in tasks])
    deadline = _column([task.deadline_us for task in tasks])
    jobs = np.maximum(0, (column + period - deadline) // period)
    inside = jobs * wcet
    # A job released before the window, its deadline as late as can be.
    carried = inside + np.minimum(wcet, np.maximum(0, column - jobs * period))
    inside[index] -= own.wcet_us
    carried[index] -= own.wcet_us
    cap = np.broadcast_to(column - own.wcet_us, inside.shape).copy()
    cap[index] = windows - own.deadline_us
    least = np.minimum(inside, cap)
    more = np.minimum(carried, cap) - least
    more.sort(axis=0)
    top = more[len(tasks) - min(vcpus - 1, len(tasks)):].sum(axis=0)
    total: Times = least.sum(axis=0) + top + vcpus * own.wcet_us
    return total


@functools.lru_cache(maxsize=2)
def load(tasks: tuple[tasks_.Task, ...]) -> tuple[Fraction, Fraction]:
    """Return U and the sum of all U_i (T_i - D_i): slow to add up, so only once."""
    return tasks_.utilisation(tasks), sum(
        (task.utilisation * (task.period_us - task.deadline_us) for task in tasks),
        Fraction(0))


def last_window(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                 index: int) -> int:
    """Return the window after which the linear bounds prove the test.

    Demand is at most U t plus constants, supply at least
    (Θ/Π) (t - 2 (Π - Θ/m)). On one vCPU no window longer than the longest
    busy period matters either.
    """
    utilisation, constants = load(tuple(tasks))
    spare = resource.bandwidth - utilisation
    constants += resource.bandwidth * resource.blackout_us
    if resource.vcpus > 1:
        largest = sorted((t.wcet_us for t in tasks), reverse=True)
        constants += sum(largest[:resource.vcpus - 1])
        constants += resource.vcpus * tasks[index].wcet_us
    if spare == 0:
        # One full CPU: demand less supply repeats with the tasks.
        last = math.lcm(*(task.period_us for task in tasks))
    else:
        last = int(constants / spare) + 1
    return _busy_period(tasks, resource, last) if resource.vcpus == 1 else last


def _busy_period(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                 most: int) -> int:
    """Return the longest time with work left on one vCPU, or ``most``."""
    window = 1
    for _ in range(MAX_STEPS):
        requested = sum(-(-window // task.period_us) * task.wcet_us
                        for task in tasks)
        longer = resource.inverse_sbf(requested)
        if longer >= most:
            return most
        if longer <= window:
            return window
        window = longer
    return most


def _column(values: Sequence[int]) -> Times:
    return np.array(values, dtype=np.int64)[:, np.newaxis]
