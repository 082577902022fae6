# SPDX-License-Identifier: Apache-2.0
"""When a thread may go to another pCPU at nobody's cost.

A thread takes what is left of its budget, and its deadline, along. In the middle of a
period that may be more than its bandwidth allows until that deadline (Abeni and Buttazzo,
"Integrating Multimedia Applications in Hard Real-Time Systems", RTSS 1998: the rule by
which the CBS gives a task that wakes up a new deadline), and the threads with later
deadlines there would pay for it. It is not where the thread

* has used up its budget, and waits for the next period,
* sleeps, as the kernel applies that rule when it wakes up, or
* has just got a new budget and deadline.

The kernel tells budget and deadline in ``/proc/PID/sched`` (proc_sched_show_task()).
"""

from collections.abc import Iterator
import contextlib
import os
import time

from oslo_log import log as logging

from nova_rt.virt.deadline.scheduler import Budget
from nova_rt.virt.deadline.scheduler import Scheduler

LOG = logging.getLogger(__name__)

# How long a moment may have gone unseen.
_POLL_S = 0.0005
# A period that began no longer ago has just begun; before that, this thread was kept waiting.
_FRESH_S = 0.002
# Every period has such a moment. One more, and what a busy machine may need.
_PERIODS = 2
_PATIENCE_S = 1
_SLEEPS = frozenset('SDTt')


def take(scheduler: Scheduler, thread: int, pcpu: int) -> None:
    """Take a thread to another pCPU when that costs nobody.

    Where no such moment is seen in time, which is logged, it goes all the same.

    One that is not under SCHED_DEADLINE has no budget, and goes at once.

    :raises ProcessLookupError: if it has ended
    :raises RefusalError: if the kernel refuses
    """
    period_ns = scheduler.read(thread).period_ns
    if not period_ns:
        scheduler.pin(thread, pcpu)
        return
    with _urgent():
        end = (time.monotonic() + _PATIENCE_S
               + _PERIODS * period_ns / 1e9)
        before, looked = None, 0.0
        while (now := time.monotonic()) < end:
            budget = scheduler.budget(thread)
            if (scheduler.state(thread) in _SLEEPS or _is_spent(budget)
                    or (_is_another(budget, before)
                        and time.monotonic() - looked <= _FRESH_S)):
                scheduler.pin(thread, pcpu)
                return
            before, looked = budget, now
            time.sleep(_POLL_S)
        scheduler.pin(thread, pcpu)
    LOG.warning('Thread %d has gone to another pCPU in the middle of its period: neighbours '
                'there may get up to one budget of it later than they should, once.', thread)


def _is_spent(budget: Budget | None) -> bool:
    return budget is not None and budget.left_ns <= 0


def _is_another(budget: Budget | None, before: Budget | None) -> bool:
    """Return whether a period has begun between two looks."""
    return (budget is not None and before is not None
            and before.deadline_ns != budget.deadline_ns)


@contextlib.contextmanager
def _urgent() -> Iterator[None]:
    """Let normal tasks not keep this thread from the moment that it waits for.

    It mostly sleeps. Where it may not, as in a group without real-time runtime, it waits
    as it is.
    """
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(
            os.sched_get_priority_max(os.SCHED_FIFO)))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, priority)
