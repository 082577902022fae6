# SPDX-License-Identifier: Apache-2.0
"""Gives the threads of a virtual machine their reservation, all of them or none."""

from collections.abc import Sequence
import contextlib
import dataclasses
import errno
import time

from oslo_log import log as logging

from nova_rt import ledger
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline.scheduler import Scheduler

LOG = logging.getLogger(__name__)

# How often the kernel is asked again for bandwidth that it is about to give back.
_POLL_S = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """How one thread is scheduled, and where."""

    thread: int
    pcpus: frozenset[int]
    attributes: attributes.Attributes


def wanted(present: Sequence[Setting], holding: ledger.Holding) -> list[Setting]:
    """Return what the threads of the vCPUs must have: a pCPU each.

    Those that are pinned to one of the holding's pCPUs stay there; the others take what
    is left, in ascending order. So a server of which one vCPU moves has one thread moved.

    :param present: what the threads have, in the vCPUs' order
    :raises DeadlineError: if there are more or fewer threads than pCPUs, or two vCPUs
        share one
    """
    threads = [setting.thread for setting in present]
    if len(set(threads)) != len(holding.pcpus):
        raise errors.DeadlineError(
            f'The virtual machine runs its vCPUs on {len(set(threads))} thread(s), but its '
            f'reservation has {len(holding.pcpus)} pCPU(s): each vCPU needs a thread of its '
            'own, so use KVM, or an emulation with one thread for each vCPU.')
    thread_attributes = attributes.of_reservation(holding.reservation)
    return [Setting(thread, frozenset({pcpu}), thread_attributes)
            for thread, pcpu in zip(threads, _places(present, holding.pcpus), strict=True)]


def _places(present: Sequence[Setting], pcpus: Sequence[int]) -> list[int]:
    """Return the pCPU of each thread."""
    free = set(pcpus)
    staying: dict[int, int] = {}
    for setting in present:
        if len(setting.pcpus) == 1 and setting.pcpus <= free:
            staying[setting.thread], = setting.pcpus
            free -= setting.pcpus
    left = iter(sorted(free))
    return [staying[setting.thread] if setting.thread in staying else next(left)
            for setting in present]


def present(scheduler: Scheduler, threads: Sequence[int]) -> list[Setting]:
    """Return what threads have.

    :raises ProcessLookupError: if one has ended
    """
    return [Setting(thread, scheduler.affinity(thread), scheduler.read(thread))
            for thread in threads]


def apply(scheduler: Scheduler, settings: Sequence[Setting]) -> bool:
    """Make threads have what they must have; return whether that changed anything.

    :raises ProcessLookupError: if one has ended
    :raises RefusalError: if the kernel refuses one; all are then as they were
    """
    before = present(scheduler, [setting.thread for setting in settings])
    changed: list[tuple[Setting, Setting]] = [
        (old, new) for old, new in zip(before, settings, strict=True) if old != new]
    for position, (old, new) in enumerate(changed):
        try:
            _change(scheduler, old, new)
        except (errors.RefusalError, ProcessLookupError):
            for earlier, tried in reversed(changed[:position + 1]):
                _restore(scheduler, tried, earlier)
            raise
    return bool(changed)


def _change(scheduler: Scheduler, old: Setting, new: Setting) -> None:
    # Pinned first: the kernel admits a thread where it may run.
    if old.pcpus != new.pcpus:
        scheduler.set_affinity(new.thread, new.pcpus)
    if old.attributes != new.attributes:
        _write(scheduler, new)


def _write(scheduler: Scheduler, new: Setting) -> None:
    """Give a thread its policy; where the kernel admits, wait for what is about to be free.

    It gives the bandwidth of a thread that has ended back at its zero-lag time
    (task_non_contending() in kernel/sched/deadline.c), up to one period later. The server that
    had it may be this one, before it was rebooted.

    :raises RefusalError: if it refuses for longer than a period, or for another reason
    """
    end = time.monotonic() + new.attributes.period_ns / 1e9
    while True:
        try:
            scheduler.write(new.thread, new.attributes)
        except errors.RefusalError as exc:
            if (exc.errno != errno.EBUSY or not scheduler.is_limited()
                    or time.monotonic() > end):
                raise
            time.sleep(_POLL_S)
        else:
            return


def _restore(scheduler: Scheduler, tried: Setting, earlier: Setting) -> None:
    """Undo what was tried; policy first, as a thread with SCHED_DEADLINE stays pinned."""
    try:
        if tried.attributes != earlier.attributes:
            _write_back(scheduler, earlier)
        if tried.pcpus != earlier.pcpus:
            scheduler.set_affinity(earlier.thread, earlier.pcpus)
    except ProcessLookupError:
        pass
    except errors.RefusalError as exc:
        LOG.error('Thread %d does not have its former scheduling again: %s',
                  earlier.thread, exc)


def _write_back(scheduler: Scheduler, earlier: Setting) -> None:
    """Give a thread the policy back that it had.

    One that gives up SCHED_DEADLINE while it sleeps, as a virtual machine's do that is to start,
    gives up next to nothing: what it had until then, Linux 6.18 would go on counting on its
    pCPU, also when it has ended, and admit that much less there.
    """
    present = scheduler.read(earlier.thread)
    if present.bandwidth and not earlier.attributes.bandwidth:
        with contextlib.suppress(errors.RefusalError):
            scheduler.write(earlier.thread, attributes.LEAST)
    scheduler.write(earlier.thread, earlier.attributes)
