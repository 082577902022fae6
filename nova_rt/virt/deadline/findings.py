# SPDX-License-Identifier: Apache-2.0
"""Looks for what keeps a host from giving virtual machines reservations.

Nothing is changed: a process of our own asks for SCHED_DEADLINE on each pCPU, and
is ended.
"""

from collections.abc import Iterator
import contextlib
import pathlib

from nova_rt import bandwidth
from nova_rt.virt.cgroup import limits
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.cgroup.doctor.finding import Finding
from nova_rt.virt.deadline import admission
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import granularity
from nova_rt.virt.deadline.attributes import SCHED_DEADLINE
from nova_rt.virt.deadline.scheduler import Scheduler

GUARANTEE = ('every vCPU of a virtual machine gets its runtime in every period on its '
             'pCPU, whatever SCHED_FIFO, SCHED_RR and normal tasks run there')

# What this costs.
_COSTS = {
    admission.Admission.LEDGER:
        'kernel.sched_rt_runtime_us is -1: nova-rt alone admits, so other SCHED_DEADLINE '
        'threads can take what is reserved, and before Linux 6.12 a SCHED_FIFO task that '
        'never sleeps starves normal ones',
    admission.Admission.KERNEL:
        'each pCPU is a root domain of its own: the kernel admits there as well, and '
        'balances no normal tasks between them',
}
_CHOICE = ('-1 leaves admission to nova-rt alone and ends the throttling of real-time tasks, '
           'root domains end the balancing of normal tasks between these pCPUs')
_LEAST, _MOST = bandwidth.MIN_PERIOD_US, bandwidth.MAX_PERIOD_US


def examine(scheduler: Scheduler, pcpus: frozenset[int], cap: int) -> list[Finding]:
    """Run every check; the first finding names the dialect.

    :param pcpus: those that may hold reservations
    :param cap: the largest bandwidth that is to be admitted on one of them
    """
    return [finding.good('dialect', f'deadline: {GUARANTEE}'),
            *_admission(scheduler, pcpus, cap), _turns(), *_periods(scheduler),
            *_foreign(scheduler)]


def _admission(scheduler: Scheduler, pcpus: frozenset[int], cap: int) -> Iterator[Finding]:
    try:
        detected = admission.detect(scheduler, pcpus)
    except errors.DeadlineError as exc:
        row = finding.from_error('admission', exc)
        if errors.NOT_PINNED in row.advice:
            row = finding.wrong(row.check, row.found, f'{row.advice}; {_CHOICE}')
        yield row
        return
    yield finding.good('admission', _COSTS[detected])
    admitted = detected.admitted(scheduler)
    found = (f'beside the kernel\'s own servers, {bandwidth.percent(admitted)} of a pCPU can be '
             'reserved')
    if admitted < cap:
        yield finding.warning(
            'kernel servers', f'{found}, less than [rt] cap, {bandwidth.percent(cap)}',
            f'lower the cap or {limits.WHERE}')
    else:
        yield finding.good('kernel servers', found)


def _turns() -> Finding:
    """Check how exactly the kernel ends a vCPU's turn."""
    if granularity.is_exact():
        return finding.good('turns', 'a timer ends a vCPU\'s turn when its runtime is used up')
    return finding.warning(
        'turns', f'the kernel ends a vCPU\'s turn at a tick, up to {granularity.tick_us()} µs '
        'late, and takes that off its next period',
        (f'enable nova-rt-turns.service, which writes {granularity.WANTED} to '
         f'{granularity.FEATURES} and fails where the kernel is locked down')
        if granularity.has_exact_timers() else
        'boot with high resolution timers: without highres=off, on a clock that allows them')


def _periods(scheduler: Scheduler) -> Iterator[Finding]:
    """Check the kernel's limits of a period."""
    directory = scheduler.proc / 'sys/kernel'
    least = int((directory / 'sched_deadline_period_min_us').read_text())
    most = int((directory / 'sched_deadline_period_max_us').read_text())
    if least <= _LEAST and most >= _MOST:
        yield finding.good('periods', f'the kernel takes {least} to {most} µs')
    else:
        yield finding.warning(
            'periods', f'the kernel takes {least} to {most} µs only, so a server with a '
            'period outside does not start',
            f'set kernel.sched_deadline_period_min_us to {_LEAST}, and '
            f'kernel.sched_deadline_period_max_us to {_MOST}')


def _foreign(scheduler: Scheduler) -> Iterator[Finding]:
    tasks = sum(1 for task in scheduler.proc.glob('[0-9]*/task/*')
                if _is_foreign(scheduler, task))
    if tasks:
        yield finding.warning(
            'foreign threads', f'{tasks} thread(s) that are no vCPUs are under '
            'SCHED_DEADLINE, and share the bandwidth with virtual machines',
            'lower [rt] cap by what they have')


def _is_foreign(scheduler: Scheduler, task: pathlib.Path) -> bool:
    """Return whether a task of user space other than a vCPU is under SCHED_DEADLINE."""
    with contextlib.suppress(ProcessLookupError, errors.RefusalError, OSError):
        # The kernel's own have no command line, and no real bandwidth.
        return (scheduler.read(int(task.name)).policy == SCHED_DEADLINE
                and not scheduler.name(int(task.name)).startswith('CPU ')
                and bool((task / 'cmdline').read_bytes()))
    return False
