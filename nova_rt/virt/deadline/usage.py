# SPDX-License-Identifier: Apache-2.0
"""What the vCPUs of a virtual machine have got.

The kernel counts for each thread how long it ran and how long it was ready but did not run
(``/proc/PID/schedstat``, sched_info_arrive() in kernel/sched/stats.h), be it for want of
budget or because of another vCPU with an earlier deadline. It does not count throttling. It counts
on when a thread goes to another pCPU, and does not say on which it ran for how long.
"""

from collections.abc import Sequence

from nova_rt import ledger
from nova_rt import usage
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import threads
from nova_rt.virt.deadline.scheduler import Scheduler


def of_threads(scheduler: Scheduler, vcpus: Sequence[int],
               holding: ledger.Holding) -> dict[int, usage.VcpuUsage]:
    """Return what the threads of vCPUs have got, by the pCPU that each is to run on.

    :param vcpus: in the vCPUs' order
    :raises DeadlineError: if there are more or fewer threads than pCPUs
    :raises ProcessLookupError: if one has ended
    """
    present = threads.present(scheduler, vcpus)
    return {min(wanted.pcpus): _of_thread(scheduler, vcpu, has, wanted)
            for vcpu, (has, wanted) in enumerate(
                zip(present, threads.wanted(present, holding), strict=True))}


def _of_thread(scheduler: Scheduler, vcpu: int, has: threads.Setting,
               wanted: threads.Setting) -> usage.VcpuUsage:
    try:
        text = (scheduler.proc / str(has.thread) / 'schedstat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        raise errors.ended(has.thread) from None
    used_ns, waited_ns, _ = map(int, text.split())
    return usage.VcpuUsage(
        has.attributes.bandwidth if has.pcpus == wanted.pcpus else 0,
        used_ns // 1_000, waited_ns // 1_000, vcpu=vcpu)
