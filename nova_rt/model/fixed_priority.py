# SPDX-License-Identifier: Apache-2.0
"""Global fixed priorities on a multiprocessor periodic resource.

The window analysis of Easwaran, Shin and Lee (2009) with the interference of
tasks of higher priority alone, as they suggest and as CARTS did it. At most
m - 1 tasks carry work into the window: Guan et al. (RTSS 2009) move the
window's start back to the last instant at which some supplied time was not
used by higher priorities, and their argument needs no full CPUs.
"""

from collections.abc import Sequence

from nova_rt.model import checks
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.model import verdict


def without_carry_in(task: tasks_.Task, window_us: int) -> int:
    """Return the most that jobs released in a window execute in it, in µs."""
    jobs, rest = divmod(window_us, task.period_us)
    return jobs * task.wcet_us + min(task.wcet_us, rest)


def with_carry_in(task: tasks_.Task, response_us: int,
                  window_us: int) -> int:
    """Return the same where one job may have been released before.

    That job executes as late as its response time allows (Bertogna and
    Cirinei, RTSS 2007), which makes the window longer by R - C.
    """
    return without_carry_in(
        task, window_us + response_us - task.wcet_us)


def demand(task: tasks_.Task, higher: Sequence[tuple[tasks_.Task, int]],
           vcpus: int, window_us: int) -> int:
    """Return the supply in µs with which a job surely ends in a window.

    m C is charged for the job itself, since m - 1 vCPUs may idle while it
    runs on one.

    :param higher: tasks of higher priority with bounds of their responses
    """
    # On one vCPU interference needs no cap, and the test stays closed at
    # equality; see _suffices.
    cap = window_us - task.wcet_us if vcpus > 1 else window_us
    interference = 0
    carried = []
    for other, response_us in higher:
        least = min(without_carry_in(other, window_us), cap)
        interference += least
        if vcpus > 1:
            carried.append(
                min(with_carry_in(other, response_us, window_us), cap) - least)
    carried.sort(reverse=True)
    return vcpus * task.wcet_us + interference + sum(carried[:vcpus - 1])


def _suffices(needed: int, supplied: int, vcpus: int, window_us: int) -> bool:
    # Equality proves nothing on m full CPUs where m tasks are capped: they
    # could each take an instant more than the cap.
    return needed < supplied or (
        needed == supplied and (vcpus == 1 or supplied < vcpus * window_us))


def response_time(task: tasks_.Task,
                  higher: Sequence[tuple[tasks_.Task, int]],
                  resource: supply.Resource) -> int | None:
    """Return the least whole window in µs in which a job surely ends.

    :returns: None if there is none up to the task's deadline
    """
    vcpus = resource.vcpus
    window = max(task.wcet_us,
                 resource.inverse_sbf(vcpus * task.wcet_us))
    while window <= task.deadline_us:
        needed = demand(task, higher, vcpus, window)
        if _suffices(needed, resource.sbf(window), vcpus, window):
            return window
        window = max(window + 1, resource.inverse_sbf(needed))
    return None


def analyse(tasks: Sequence[tasks_.Task], resource: supply.Resource,
            order: Sequence[int] | None = None) -> verdict.Verdict:
    """Test a task set.

    :param order: indices of the tasks, highest priority first; deadline
        monotonic unless given
    :raises checks.ModelError: if there are no tasks, or the order is not one
    """
    tasks_.check(tasks)
    order = tasks_.deadline_monotonic(tasks) if order is None else list(order)
    if sorted(order) != list(range(len(tasks))):
        raise checks.ModelError(
            'The priority order must name each task once.')
    responses: list[int | None] = [None] * len(tasks)
    higher: list[tuple[tasks_.Task, int]] = []
    for index in order:
        task = tasks[index]
        response = response_time(task, higher, resource)
        if response is None:
            return _failed(tasks, index, higher, resource, responses)
        responses[index] = response
        higher.append((task, response))
    slack, tightest = min(
        (task.deadline_us - (response or 0), index)
        for index, (task, response) in enumerate(
            zip(tasks, responses, strict=True)))
    return verdict.Verdict(
        True, slack, None, tuple(responses),
        f'Schedulable: every task ends at least {slack} µs before its '
        f'deadline; the tightest is {tasks[tightest]}.')


def _failed(tasks: Sequence[tasks_.Task], index: int,
            higher: Sequence[tuple[tasks_.Task, int]],
            resource: supply.Resource,
            responses: Sequence[int | None]) -> verdict.Verdict:
    task = tasks[index]
    window = task.deadline_us
    failure = verdict.Failure(
        index, window, demand(task, higher, resource.vcpus, window),
        resource.sbf(window))
    return verdict.Verdict(
        False, None, failure, tuple(responses),
        f'Not schedulable: {task} may need a supply of {failure.demand_us} '
        f'µs within {window} µs, and only {failure.supply_us} µs are sure.')
