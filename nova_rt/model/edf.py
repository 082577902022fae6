# SPDX-License-Identifier: Apache-2.0
"""Global EDF on a multiprocessor periodic resource.

Theorem 2 of Easwaran, Shin and Lee (2009): for every task k and every window
of t = A + D_k, what may execute in it, m C_k for the job itself included, is
at most the supply. On one vCPU the exact test of Shin and Lee (2003).
"""

from collections.abc import Sequence
from fractions import Fraction
import functools
import math

import numpy as np
import numpy.typing as npt

from nova_rt.model import arrays
from nova_rt.model import checks
from nova_rt.model import jit
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.model import verdict

Times = npt.NDArray[np.int64]

# Windows to look at in arrays for one task, and demands for all; more are left to QPA.
MAX_WINDOWS = 2_000_000
MAX_CELLS = 100_000_000
# Steps of QPA, and of the search for the longest busy period.
MAX_STEPS = 100_000
UNDECIDED = -2


def dbf(task: tasks_.Task, window_us: int) -> int:
    """Return what must end in a window at whose end a deadline is, in µs."""
    jobs = (window_us + task.period_us - task.deadline_us) // task.period_us
    return max(0, jobs) * task.wcet_us


def demand(tasks: Sequence[tasks_.Task], index: int, vcpus: int,
           window_us: int) -> int:
    """Return the supply in µs that task ``index`` needs in one window.

    Plain integers, one window: what :func:`analyse` does for many at once.
    """
    return int(_demands(tasks, index, vcpus,
                        np.array([window_us], dtype=np.int64))[0])


def _demands(tasks: Sequence[tasks_.Task], index: int, vcpus: int,
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


def analyse(tasks: Sequence[tasks_.Task],
            resource: supply.Resource) -> verdict.Verdict:
    """Test a task set.

    :raises checks.ModelError: if there are no tasks
    """
    tasks_.check(tasks)
    if not _has_bandwidth(tasks, resource):
        return _verdict(tasks, [], (
            f'Not schedulable: the utilisation of {float(_load(tuple(tasks))[0]):.4g} '
            f'is not below the bandwidth of {float(resource.bandwidth):.4g}.'
        ))
    scaled, scale = _scaled(tasks, resource)
    misses: list[verdict.Failure] = []
    slack: int | None = None
    for index in range(len(tasks)) if resource.vcpus > 1 else [0]:
        answer = _decide(*scaled, index)
        if answer is None:
            return _verdict(tasks, [], (
                'Not decided: these tasks and this bandwidth need too many '
                'windows to look at, so take it as not schedulable, or give '
                'a little more runtime.'))
        left, found = answer
        if found is not None:
            misses.append(found)
        slack = left if slack is None else min(slack, left)
    if misses:
        first = min(misses, key=lambda miss: (miss.instant_us, miss.task))
        return _verdict(tasks, [_unscaled(first, scale)], '')
    least = (slack or 0) // scale
    return verdict.Verdict(
        True, least, None, (None,) * len(tasks),
        f'Schedulable: the supply is above the demand by {least} µs or more '
        'in every window.')


def failing(tasks: Sequence[tasks_.Task], resource: supply.Resource,
            first: int | None) -> int | None:
    """Return a task at which :func:`analyse` fails, None if there is none.

    Quicker than that, as it looks at few windows. Where it takes too many steps
    to decide about a task, this fails.

    :param first: the task to look at first, if any
    """
    tasks_.check(tasks)
    if not _has_bandwidth(tasks, resource):
        return 0
    scaled, _ = _scaled(tasks, resource)
    if resource.vcpus == 1:
        answer = _qpa(*scaled)
        return 0 if answer is None or answer[1] is not None else None
    indices = sorted(range(len(tasks)), key=lambda index: index != first)
    return next((index for index in indices if (
        answer := _qpa_several(*scaled, index)) is None or answer[1] is not None), None)


def _has_bandwidth(tasks: Sequence[tasks_.Task], resource: supply.Resource) -> bool:
    utilisation, _ = _load(tuple(tasks))
    return utilisation < resource.bandwidth or (
        utilisation == resource.bandwidth and resource.vcpus == 1
        and not resource.blackout_us)


def _decide(tasks: Sequence[tasks_.Task], resource: supply.Resource,
            index: int) -> tuple[int, verdict.Failure | None] | None:
    """Return a lower bound of the slack of one task and a window that fails.

    :param index: of the task; any on one vCPU, where all are decided at once
    :returns: None if there are too many windows
    """
    windows = _windows(tasks, resource, index)
    if windows is not None:
        return _test(tasks, resource, index, windows)
    return _qpa(tasks, resource) if resource.vcpus == 1 else _qpa_several(
        tasks, resource, index)


def _test(tasks: Sequence[tasks_.Task], resource: supply.Resource,
          index: int, windows: Times) -> tuple[int, verdict.Failure | None]:
    vcpus = resource.vcpus
    if vcpus == 1:
        needed = sum((np.maximum(0, (windows + t.period_us - t.deadline_us)
                                 // t.period_us) * t.wcet_us for t in tasks),
                     np.zeros_like(windows))
    else:
        needed = _demands(tasks, index, vcpus, windows)
    supplied = _supplies(resource, windows)
    fails = needed > supplied
    if vcpus > 1:
        # The caps prove nothing at equality on full CPUs, as under fixed
        # priorities.
        fails |= (needed == supplied) & (supplied == vcpus * windows)
    if not fails.any():
        return int((supplied - needed).min()), None
    at = int(np.argmax(fails))
    window = int(windows[at])
    if vcpus == 1:
        index = next(i for i, task in enumerate(tasks)
                     if window >= task.deadline_us and
                     (window - task.deadline_us) % task.period_us == 0)
    return 0, verdict.Failure(
        index, window, int(needed[at]), int(supplied[at]))


def _supplies(resource: supply.Resource, windows: Times) -> Times:
    period = resource.vcpus * resource.period_us
    gap = period - resource.budget_us
    usable = np.maximum(0, resource.vcpus * windows - gap)
    supplied: Times = (usable // period * resource.budget_us
                       + np.maximum(0, usable % period - gap))
    return supplied


def _windows(tasks: Sequence[tasks_.Task], resource: supply.Resource,
             index: int) -> Times | None:
    """Return every window at which demand less supply can be largest.

    Between two neighbouring break points of its parts, demand is convex (a
    largest of linear functions) and supply is linear, and demand only jumps
    up; so the break points suffice. In ascending order, from D_k on.
    """
    own = tasks[index]
    last = _last_window(tasks, resource, index)
    points = sum(last // task.period_us + 2 for task in tasks)
    if resource.vcpus > 1:
        points = 4 * points + 2 * (last // resource.period_us + 2)
    cells = points * len(tasks) * (len(tasks) if resource.vcpus > 1 else 1)
    if (points > MAX_WINDOWS or cells > MAX_CELLS
            or last > checks.MAX_TIME_US << 10):
        return None
    first = own.deadline_us if resource.vcpus > 1 else 0
    parts = [np.array([first], dtype=np.int64)]
    for task in tasks:
        jobs = np.arange(last // task.period_us + 2, dtype=np.int64)
        starts = jobs * task.period_us
        deadlines = starts + task.deadline_us
        done = (jobs + 1) * task.wcet_us
        parts.append(deadlines)
        if resource.vcpus > 1:
            # Carry-in begins and is whole; a cap no longer binds.
            parts += [starts, starts + task.wcet_us, done + own.wcet_us,
                      done - own.wcet_us + own.deadline_us]
    if resource.vcpus > 1:
        gap = resource.period_us - resource.budget_us // resource.vcpus
        rounds = np.arange(last // resource.period_us + 2, dtype=np.int64)
        parts += [rounds * resource.period_us + gap,
                  rounds * resource.period_us + 2 * gap]
    windows = np.unique(np.concatenate(parts))
    return windows[(windows >= first) & (windows <= max(last, first))]


@functools.lru_cache(maxsize=2)
def _load(tasks: tuple[tasks_.Task, ...]) -> tuple[Fraction, Fraction]:
    """Return U and the sum of all U_i (T_i - D_i): slow to add up, so only once."""
    return tasks_.utilisation(tasks), sum(
        (task.utilisation * (task.period_us - task.deadline_us) for task in tasks),
        Fraction(0))


def _last_window(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                 index: int) -> int:
    """Return the window after which the linear bounds prove the test.

    Demand is at most U t plus constants, supply at least
    (Θ/Π) (t - 2 (Π - Θ/m)). On one vCPU no window longer than the longest
    busy period matters either.
    """
    utilisation, constants = _load(tuple(tasks))
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


def _qpa(tasks: Sequence[tasks_.Task], resource: supply.Resource
         ) -> tuple[int, verdict.Failure | None] | None:
    """Decide one vCPU from the longest window down (Zhang and Burns, 2009).

    If demand in a window is supplied in a shorter one already, nothing fails
    between the two. Their slack is not known.

    :returns: 0 and the longest window that fails, if any; None if it takes too
        many steps
    """
    window = _last_deadline(tasks, _last_window(tasks, resource, 0) + 1)
    for _ in range(MAX_STEPS):
        if window is None:
            return 0, None
        needed = sum(dbf(task, window) for task in tasks)
        supplied = resource.sbf(window)
        if supplied < needed:
            index = next(i for i, task in enumerate(tasks)
                         if _last_deadline([task], window + 1) == window)
            return 0, verdict.Failure(index, window, needed, supplied)
        window = _last_deadline(
            tasks, min(window, resource.inverse_sbf(needed)))
    return None


def _qpa_several(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                 index: int) -> tuple[int, verdict.Failure | None] | None:
    """Decide one task on several vCPUs likewise: its demand does not fall either.

    Between whole windows nothing fails: demand and supply have their break
    points there.
    """
    last = _last_window(tasks, resource, index)
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
    return 0, verdict.Failure(index, window, demand(
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


def _scaled(tasks: Sequence[tasks_.Task], resource: supply.Resource
            ) -> tuple[tuple[list[tasks_.Task], supply.Resource], int]:
    """Return the same question in a unit of which Θ/m is a whole number."""
    if resource.budget_us % resource.vcpus == 0:
        return (list(tasks), resource), 1
    scale = resource.vcpus
    try:
        return ([tasks_.Task(t.wcet_us * scale, t.period_us * scale,
                             t.deadline_us * scale) for t in tasks],
                supply.Resource(resource.budget_us * scale,
                                resource.period_us * scale, scale)), scale
    except checks.ModelError:
        raise checks.ModelError(
            f'The times are too long to divide Θ by {scale} exactly: give a '
            'Θ that is a multiple of m.') from None


def _unscaled(failure: verdict.Failure, scale: int) -> verdict.Failure:
    return verdict.Failure(
        failure.task, failure.instant_us // scale,
        -(-failure.demand_us // scale), failure.supply_us // scale)


def _verdict(tasks: Sequence[tasks_.Task], misses: list[verdict.Failure],
             reason: str) -> verdict.Verdict:
    failure = misses[0] if misses else None
    if failure is not None:
        reason = (
            f'Not schedulable: {tasks[failure.task]} may need a supply of '
            f'{failure.demand_us} µs within {failure.instant_us} µs, and '
            f'only {failure.supply_us} µs are sure.')
    return verdict.Verdict(False, None, failure, (None,) * len(tasks), reason)


def _column(values: Sequence[int]) -> Times:
    return np.array(values, dtype=np.int64)[:, np.newaxis]
