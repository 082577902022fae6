# SPDX-License-Identifier: Apache-2.0
"""Whether a kernel lets a pinned thread have SCHED_DEADLINE, found out by trying.

With kernel.sched_rt_runtime_us = -1 the kernel admits every thread, so that
nova-rt's ledger is the only admission. Otherwise it wants a thread to run on all
CPUs of its root domain (dl_task_check_affinity(), __sched_setscheduler()), so each
pCPU needs a root domain of its own; then it admits on each of them as well.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import enum
import errno

from nova_rt import bandwidth
from nova_rt.virt.cgroup import limits
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline.attributes import Attributes
from nova_rt.virt.deadline.attributes import LEAST
from nova_rt.virt.deadline.scheduler import Scheduler


class Admission(enum.Enum):
    """Who admits a SCHED_DEADLINE thread to a pCPU."""

    LEDGER = 'ledger'
    """nova-rt alone: kernel.sched_rt_runtime_us is -1."""

    KERNEL = 'kernel'
    """The kernel as well: every pCPU is a root domain of its own."""

    def admitted(self, scheduler: Scheduler) -> int:
        """Return the bandwidth for reservations on one pCPU, beside the kernel's servers."""
        if self is Admission.LEDGER:
            return bandwidth.BW_UNIT - limits.kernel_servers()
        return limits.beside_kernel_servers(scheduler.proc)


def detect(scheduler: Scheduler, pcpus: Iterable[int]) -> Admission:
    """Return who admits threads that are pinned to these pCPUs.

    A process of our own asks for SCHED_DEADLINE on each of them, and is ended.

    :raises RefusalError: if the kernel refuses, with what to do
    """
    refusals = {pcpu: refusal for pcpu, refusal in _try_out(scheduler, sorted(pcpus))
                if refusal.errno != errno.EBUSY}
    if refusals:
        names = ', '.join(map(str, refusals))
        first = next(iter(refusals.values()))
        if first.errno != errno.EPERM or 'CAP_SYS_NICE' in str(first):
            raise first
        raise errors.RefusalError(
            f'The kernel refuses SCHED_DEADLINE to a thread that is pinned to pCPU(s) {names}: '
            f'{errors.NOT_PINNED}, or leave them out of [rt] cpu_set.', first.errno)
    if limits.is_unlimited(scheduler.proc):
        return Admission.LEDGER
    return Admission.KERNEL


def try_out(scheduler: Scheduler, pcpus: Iterable[int], wanted: Attributes) -> None:
    """Have the kernel admit a thread to each of these pCPUs, and end it.

    The thread ends under SCHED_DEADLINE: from one that gives it up while it sleeps,
    Linux 6.18 does not take the bandwidth back.

    :raises RefusalError: if the kernel refuses one
    """
    for pcpu in pcpus:
        with scheduler.sleeper() as thread:
            scheduler.pin(thread, pcpu)
            scheduler.write(thread, wanted)


def _try_out(scheduler: Scheduler,
             pcpus: Iterable[int]) -> Iterator[tuple[int, errors.RefusalError]]:
    """Yield the pCPUs on which the kernel refuses a thread, and how."""
    with scheduler.sleeper() as thread:
        before = scheduler.read(thread)
        for pcpu in pcpus:
            try:
                scheduler.pin(thread, pcpu)
                # The probe only sleeps.
                scheduler.write(thread, LEAST)
            except errors.RefusalError as exc:
                yield pcpu, exc
            finally:
                scheduler.write(thread, before)
