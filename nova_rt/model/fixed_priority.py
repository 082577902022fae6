# SPDX-License-Identifier: Apache-2.0
"""Global fixed priorities on a multiprocessor periodic resource.

The window analysis of Easwaran, Shin and Lee (2009) with the interference of
tasks of higher priority alone, as they suggest and as CARTS did it. At most
m - 1 tasks carry work into the window: Guan et al. (RTSS 2009) move the
window's start back to the last instant at which some supplied time was not
used by higher priorities, and their argument needs no full CPUs.
"""

from collections.abc import Sequence

import numpy as np

from nova_rt.model import arrays
from nova_rt.model import checks
from nova_rt.model import jit
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
    # equality; see _response_time().
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


def response_time(task: tasks_.Task,
                  higher: Sequence[tuple[tasks_.Task, int]],
                  resource: supply.Resource) -> int | None:
    """Return the least whole window in µs in which a job surely ends.

    :returns: None if there is none up to the task's deadline
    """
    queue = Queue(len(higher))
    for other, response_us in higher:
        queue.append(other, response_us)
    return queue.response_time(task, resource)


class Queue:
    """Tasks of higher priority than the next, with bounds of their responses.

    :param most: how many there may be
    """

    def __init__(self, most: int) -> None:
        self._tasks = np.zeros((3, most), dtype=np.int64)
        self._count = 0

    def append(self, task: tasks_.Task, response_us: int) -> None:
        """Add the task of the lowest priority so far."""
        self._tasks[:, self._count] = task.wcet_us, task.period_us, response_us
        self._count += 1

    def response_time(self, task: tasks_.Task, resource: supply.Resource) -> int | None:
        """Return the least whole window in µs in which a job of the next task ends.

        :returns: None if there is none up to the task's deadline
        """
        function = _response_time
        most = (self._count + resource.vcpus) * task.deadline_us
        if (most // resource.budget_us + 3) * resource.vcpus * resource.period_us >> 62:
            function = jit.plain(function)
        found = function(
            self._tasks[:, :self._count], task.wcet_us, task.deadline_us,
            resource.budget_us, resource.period_us, resource.vcpus)
        return None if found < 0 else int(found)


@jit.jit
def _work(wcet: int, period: int, window: int) -> int:
    """See without_carry_in()."""
    return window // period * wcet + min(wcet, window % period)


@jit.jit
def _response_time(higher: arrays.Ints, wcet: int, deadline: int, budget: int,
                   period: int, vcpus: int) -> int:
    """See Queue.response_time(); :func:`demand` and Resource.sbf() in one loop.

    :param higher: wcet, period and response of each task
    :returns: -1 if there is no window
    """
    gap = vcpus * period - budget
    carried = np.zeros(max(1, vcpus - 1), dtype=np.int64)
    needed = vcpus * wcet
    window = wcet
    while True:
        # The window that supplies as much, as Resource.inverse_sbf().
        rounds = -(-needed // budget) - 1
        window = max(window, -(-(2 * gap + rounds * vcpus * period
                                 + needed - rounds * budget) // vcpus))
        if window > deadline:
            return -1
        cap = window - wcet if vcpus > 1 else window
        needed = vcpus * wcet
        carried[:] = 0
        smallest = 0
        for index in range(higher.shape[1]):
            own, every = higher[0, index], higher[1, index]
            least = min(_work(own, every, window), cap)
            needed += least
            if vcpus > 1:
                more = min(_work(own, every, window + higher[2, index] - own),
                           cap) - least
                if more > carried[smallest]:
                    needed += more - carried[smallest]
                    carried[smallest] = more
                    smallest = int(carried.argmin())
        usable = vcpus * window - gap
        supplied = 0
        if usable > 0:
            supplied = usable // (vcpus * period) * budget + max(
                0, usable % (vcpus * period) - gap)
        # Equality proves nothing on m full CPUs where m tasks are capped: they
        # could each take an instant more than the cap.
        if needed < supplied or (needed == supplied and (
                vcpus == 1 or supplied < vcpus * window)):
            return window
        window += 1


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
    queue = Queue(len(tasks))
    for index in order:
        task = tasks[index]
        response = queue.response_time(task, resource)
        if response is None:
            return _failed(tasks, index, higher, resource, responses)
        responses[index] = response
        higher.append((task, response))
        queue.append(task, response)
    slack, tightest = min(
        (task.deadline_us - (response or 0), index)
        for index, (task, response) in enumerate(
            zip(tasks, responses, strict=True)))
    return verdict.Verdict(
        True, slack, None, tuple(responses),
        f'Schedulable: every task ends at least {slack} µs before its '
        f'deadline; the tightest is {tasks[tightest]}.')


def failing(tasks: Sequence[tasks_.Task], resource: supply.Resource,
            first: int | None) -> int | None:
    """Return a task at which :func:`analyse` fails, None if there is none.

    :param first: the task to look at first, if any: it surely fails if it does even
        when no other ever waits, which is quick to find out
    """
    if first is not None:
        order = tasks_.deadline_monotonic(tasks)
        queue = Queue(len(tasks))
        for other in order[:order.index(first)]:
            queue.append(tasks[other], tasks[other].wcet_us)
        if queue.response_time(tasks[first], resource) is None:
            return first
    failure = analyse(tasks, resource).failure
    return None if failure is None else failure.task


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
