# SPDX-License-Identifier: Apache-2.0
"""Global EDF on a multiprocessor periodic resource.

Theorem 2 of Easwaran, Shin and Lee (2009): for every task k and every window
of t = A + D_k, what may execute in it, m C_k for the job itself included, is
at most the supply. On one vCPU the exact test of Shin and Lee (2003).
"""

from collections.abc import Sequence

import numpy as np

from nova_rt.model import checks
from nova_rt.model import edf_demand
from nova_rt.model import edf_qpa
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.model import verdict

# Windows to look at in arrays for one task, and demands for all; more are left to QPA.
MAX_WINDOWS = 2_000_000
MAX_CELLS = 100_000_000


def analyse(tasks: Sequence[tasks_.Task],
            resource: supply.Resource) -> verdict.Verdict:
    """Test a task set.

    :raises checks.ModelError: if there are no tasks
    """
    tasks_.check(tasks)
    if not _has_bandwidth(tasks, resource):
        return _verdict(tasks, [], (
            'Not schedulable: the utilisation of '
            f'{float(edf_demand.load(tuple(tasks))[0]):.4g} is not below the bandwidth of '
            f'{float(resource.bandwidth):.4g}.'))
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
        answer = edf_qpa.decide_one(*scaled)
        return 0 if answer is None or answer[1] is not None else None
    indices = sorted(range(len(tasks)), key=lambda index: index != first)
    return next((index for index in indices if (
        answer := edf_qpa.decide_several(*scaled, index)) is None or answer[1] is not None), None)


def _has_bandwidth(tasks: Sequence[tasks_.Task], resource: supply.Resource) -> bool:
    utilisation, _ = edf_demand.load(tuple(tasks))
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
    return (edf_qpa.decide_one(tasks, resource) if resource.vcpus == 1
            else edf_qpa.decide_several(tasks, resource, index))


def _test(tasks: Sequence[tasks_.Task], resource: supply.Resource,
          index: int, windows: edf_demand.Times) -> tuple[int, verdict.Failure | None]:
    vcpus = resource.vcpus
    if vcpus == 1:
        needed = sum((np.maximum(0, (windows + t.period_us - t.deadline_us)
                                 // t.period_us) * t.wcet_us for t in tasks),
                     np.zeros_like(windows))
    else:
        needed = edf_demand.demands(tasks, index, vcpus, windows)
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


def _supplies(resource: supply.Resource, windows: edf_demand.Times) -> edf_demand.Times:
    period = resource.vcpus * resource.period_us
    gap = period - resource.budget_us
    usable = np.maximum(0, resource.vcpus * windows - gap)
    supplied: edf_demand.Times = (
        usable // period * resource.budget_us + np.maximum(0, usable % period - gap))
    return supplied


def _windows(tasks: Sequence[tasks_.Task], resource: supply.Resource,
             index: int) -> edf_demand.Times | None:
    """Return every window at which demand less supply can be largest.

    Between two neighbouring break points of its parts, demand is convex (a
    largest of linear functions) and supply is linear, and demand only jumps
    up; so the break points suffice. In ascending order, from D_k on.
    """
    own = tasks[index]
    last = edf_demand.last_window(tasks, resource, index)
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
