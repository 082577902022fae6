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

import time

from oslo_log import log as logging

from nova_rt.virt.deadline.scheduler import Scheduler

LOG = logging.getLogger(__name__)

# How long a moment may have gone unseen.
_POLL_S = 0.0005
# Every period has such a moment. One more, and what a busy machine may need.
_PERIODS = 2
_PATIENCE_S = 1
_SLEEPS = frozenset('SDTt')


def wait(scheduler: Scheduler, thread: int) -> None:
    """Return when a thread may go to another pCPU.

    Where the kernel does not tell, which is logged, only a thread that sleeps can be seen.

    :param thread: one under SCHED_DEADLINE
    :raises ProcessLookupError: if it has ended
    """
    end = (time.monotonic() + _PATIENCE_S
           + _PERIODS * scheduler.read(thread).period_ns / 1e9)
    before = None
    while time.monotonic() < end:
        budget = scheduler.budget(thread)
        if scheduler.state(thread) in _SLEEPS or (budget is not None and (
                budget.left_ns <= 0 or before not in (None, budget.deadline_ns))):
            return
        before = budget.deadline_ns if budget else None
        time.sleep(_POLL_S)
    LOG.warning('Thread %d goes to another pCPU in the middle of its period: neighbours '
                'there may get up to one budget of it later than they should, once.', thread)
