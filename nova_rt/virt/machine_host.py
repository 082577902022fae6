# SPDX-License-Identifier: Apache-2.0
"""The reservations of a host for virtual machines, as its kernel holds them."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import threading

from oslo_log import log as logging

from nova_rt import bandwidth
from nova_rt import drifts
from nova_rt import kinds
from nova_rt import ledger
from nova_rt import shares
from nova_rt import usage
from nova_rt.virt import cpuset
from nova_rt.virt import host
from nova_rt.virt.cgroup import errors as cgroup_errors
from nova_rt.virt.cgroup import tree
from nova_rt.virt.deadline import admission
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import handover
from nova_rt.virt.deadline import threads
from nova_rt.virt.deadline import usage as deadline_usage
from nova_rt.virt.deadline.scheduler import Scheduler

LOG = logging.getLogger(__name__)

DIALECT = 'deadline'
# What QEMU calls the thread of a vCPU: "CPU 0/KVM" or "CPU 0/TCG".
_NAME = 'CPU '


class OvercommitError(errors.DeadlineError):
    """A pCPU has less left than a vCPU is to have, whatever the ledger says."""


class MachineHost(host.Host):
    """Applies reservations to the vCPUs of virtual machines.

    There is nothing to take back: what a thread had is free when it ends.

    Where kernel.sched_rt_runtime_us is -1, the kernel admits everything. So a vCPU gets
    its reservation only if its pCPU has room beside the vCPUs that have theirs already:
    a virtual machine that the ledger does not know costs nobody else's guarantee.

    :param scheduler: the kernel's
    :param empty: the host's pCPUs without any reservation
    :param threads_of: returns the threads of a domain's vCPUs by libvirt's id of it;
        see :meth:`nova_rt.virt.machines.Machines.threads_of`
    :param pin: pins a vCPU of a domain to a pCPU; see
        :meth:`nova_rt.virt.machines.Machines.pin`. Without it, only its thread is.
    :param cpusets: the groups of the cpuset controller, None without one
    """

    def __init__(self, scheduler: Scheduler, empty: shares.HostShares,
                 threads_of: Callable[[int], Sequence[int]],
                 pin: Callable[[int, int, int], None] | None = None,
                 cpusets: tree.CgroupTree | None = None) -> None:
        self.empty = empty
        self._scheduler = scheduler
        self._threads_of = threads_of
        self._pin = pin
        self._cpusets = cpusets
        # One pCPU, beside the kernel's own servers.
        self._admitted = admission.Admission.LEDGER.admitted(scheduler)
        self._lock = threading.Lock()
        # By domain, the threads that were set last. Only read: an id may be another
        # domain's by now.
        self._set: dict[int, Sequence[int]] = {}
        # By domain, the threads of its vCPUs when they were counted last.
        self._counted: dict[int, Sequence[int]] = {}

    @property
    def dialect(self) -> str:
        """See base class."""
        return DIALECT

    def apply(self, number: int, holding: ledger.Holding) -> None:
        """Give all vCPUs of a virtual machine their reservation, or none.

        QEMU is not asked where they have it: a change can be undone that was refused because
        QEMU did not answer.

        :raises OvercommitError: if a pCPU has no room for it
        :raises DeadlineError: if the kernel refuses, or QEMU does not answer
        :raises CgroupError: if the kernel does not let a vCPU's cpuset change
        :raises ProcessLookupError: if it has ended
        """
        if not self._is_in_place(number, holding):
            self._apply(number, self._vcpus(number), holding)

    def _apply(self, number: int, vcpus: Sequence[int], holding: ledger.Holding) -> None:
        with self._lock:
            before = threads.present(self._scheduler, vcpus)
            settings = self._admitted_settings(number, before, holding)
            elsewhere = [(vcpu, new.thread, min(new.pcpus)) for vcpu, (old, new) in enumerate(
                zip(before, settings, strict=True)) if old.pcpus != new.pcpus]
            with contextlib.ExitStack() as wider:
                for _, thread, pcpu in elsewhere:
                    wider.enter_context(self._cpuset_with(thread, pcpu))
                changed = threads.apply(self._scheduler, settings)
                for vcpu, _, pcpu in elsewhere:
                    self._tell(number, vcpu, pcpu)
            self._set[number] = vcpus
        if changed:
            LOG.info('Applied %d µs every %d µs on pCPUs %s to the vCPUs of domain %d',
                     holding.reservation.runtime_us, holding.reservation.period_us,
                     sorted(holding.pcpus), number)

    def move(self, number: int, holding: ledger.Holding) -> None:
        """See base class; the thread of a vCPU goes when that costs nobody, see handover.

        libvirt, which may keep each vCPU in a group with a cpuset, is told afterwards:
        it would take too long to catch the moment.

        :raises OvercommitError: if the other pCPU has no room for it
        :raises DeadlineError: if the kernel admits threads itself, which then cannot be
            moved; if libvirt or QEMU does not answer
        :raises CgroupError: if the kernel does not let the vCPU's cpuset change
        :raises ProcessLookupError: if it has ended
        """
        vcpus = self._vcpus(number)
        with self._lock:
            before = threads.present(self._scheduler, vcpus)
            settings = self._admitted_settings(number, before, holding)
        for vcpu, (old, new) in enumerate(zip(before, settings, strict=True)):
            if old.pcpus != new.pcpus:
                self._take(number, vcpu, old, min(new.pcpus))
        self._apply(number, vcpus, holding)

    def can_move(self) -> bool:
        """See base class; the kernel keeps threads where it admits them itself."""
        return not self._scheduler.is_limited()

    def _take(self, number: int, vcpu: int, old: threads.Setting, pcpu: int) -> None:
        """Take a vCPU to another pCPU."""
        if not self.can_move():
            raise errors.DeadlineError(
                'The kernel lets no thread under SCHED_DEADLINE go to another pCPU unless '
                'kernel.sched_rt_runtime_us is -1: set it to -1, or leave the server there.')
        with self._cpuset_with(old.thread, pcpu):
            # Before Linux 6.2, a wider cpuset lets it run on both.
            self._scheduler.set_affinity(old.thread, old.pcpus)
            handover.take(self._scheduler, old.thread, pcpu)
            self._tell(number, vcpu, pcpu)

    def _tell(self, number: int, vcpu: int, pcpu: int) -> None:
        """Have libvirt know on which pCPU a vCPU is."""
        if self._pin is not None:
            self._pin(number, vcpu, pcpu)

    def _cpuset_with(self, thread: int, pcpu: int) -> contextlib.AbstractContextManager[None]:
        if self._cpusets is None:
            return contextlib.nullcontext()
        return cpuset.widened(self._cpusets, thread, pcpu)

    def _vcpus(self, number: int) -> Sequence[int]:
        vcpus = self._threads_of(number)
        for thread in vcpus:
            self._check_name(thread)
        return vcpus

    def _admitted_settings(self, number: int, present: Sequence[threads.Setting],
                           holding: ledger.Holding) -> Sequence[threads.Setting]:
        """Return what the threads of vCPUs must have, if there is room for it.

        :raises OvercommitError: if there is not
        """
        settings = threads.wanted(present, holding)
        self._check_room(number, settings)
        return settings

    def _check_room(self, number: int, settings: Sequence[threads.Setting]) -> None:
        present = threads.present(self._scheduler, [each.thread for each in settings])
        changed = [setting for setting in settings if setting not in present]
        if not changed:
            return
        held = self._held_by_others(number)
        for new in changed:
            self._check_pcpu(min(new.pcpus), held, new.attributes.bandwidth)

    def _check_pcpu(self, pcpu: int, held: Sequence[int], wanted: int) -> None:
        """Refuse a vCPU for which a pCPU has no room beside what others hold there."""
        left = max(self._admitted, self.empty.capacity[pcpu]) - held[pcpu]
        if wanted > left:
            raise OvercommitError(
                f'pCPU {pcpu} has {bandwidth.percent(left)} left beside the virtual machines '
                f'that run there, but one more vCPU is to have {bandwidth.percent(wanted)}: '
                'nova-rt-manage audit says which of them should not run there.')

    def _held_by_others(self, number: int | None) -> list[int]:
        """Return by pCPU what the vCPUs hold, but for one domain's."""
        held = [0] * len(self.empty.capacity)
        for other, vcpus in list(self._set.items()):
            if other != number:
                with contextlib.suppress(ProcessLookupError):
                    self._add(held, threads.present(self._scheduler, vcpus))
        return held

    def try_out(self, holding: ledger.Holding) -> None:
        """See base class; as :meth:`apply` will, and the kernel, where that admits.

        :raises OvercommitError: if a pCPU has no room for it
        """
        with self._lock:
            held = self._held_by_others(None)
        for pcpu in holding.pcpus:
            self._check_pcpu(pcpu, held, holding.reservation.bandwidth)
        admission.try_out(self._scheduler, holding.pcpus,
                          attributes.of_reservation(holding.reservation))

    def _check_name(self, thread: int) -> None:
        """Refuse a thread that is no vCPU: ids are those of QEMU's pid namespace."""
        name = self._scheduler.name(thread)
        if not name.startswith(_NAME):
            raise errors.DeadlineError(
                f'QEMU runs a vCPU on thread {thread}, but that is {name!r} here: run '
                "nova-rt-compute in the host's pid namespace, as QEMU is.")

    def permit(self, number: int, priority: int) -> None:
        """See base class; a guest decides that by itself."""

    def group_of(self, number: int) -> None:
        """See base class; none is needed."""

    def take_back(self, group: str) -> None:
        """See base class; nothing is left."""

    def take_back_all(self) -> None:
        """See base class; nothing is left."""

    def reconcile(self, running: Iterable[tuple[int, ledger.Holding]]) -> None:
        """See base class; QEMU is asked only where something differs.

        One that does not answer must not keep the others waiting every minute.
        """
        running = list(running)
        self._set = {number: self._set[number] for number, _ in running
                     if number in self._set}
        for number, holding in running:
            try:
                self.apply(number, holding)
            except ProcessLookupError:
                LOG.debug('The virtual machine of domain %d has just ended.', number)
            except errors.MigratingError as exc:
                LOG.debug('No reservation to apply yet: %s', exc)
            except (errors.DeadlineError, cgroup_errors.CgroupError) as exc:
                LOG.error('A running virtual machine is without its reservation: %s', exc)

    def _is_in_place(self, number: int, holding: ledger.Holding) -> bool:
        vcpus = self._set.get(number)
        if vcpus is None:
            return False
        try:
            present = threads.present(self._scheduler, vcpus)
            return present == threads.wanted(present, holding)
        except (ProcessLookupError, errors.DeadlineError):
            return False

    def survey(self, running: Mapping[str, int]) -> drifts.Kernel:
        """See base class; a thread that is not pinned has nothing on any pCPU."""
        held = {}
        for server, number in running.items():
            try:
                held[server] = self._held(number)
            except ProcessLookupError:
                LOG.debug('The virtual machine of domain %d has just ended.', number)
            except errors.DeadlineError as exc:
                LOG.warning('What server %s has is not known: %s', server, exc)
        return drifts.Kernel(held, kind=kinds.Kind.MACHINE)

    def usages(self, running: Mapping[str, tuple[int, ledger.Holding]],
               ) -> usage.ByServer:
        """See base class; QEMU is asked once, as the threads of vCPUs stay."""
        self._counted = {number: self._counted[number] for number, _ in running.values()
                         if number in self._counted}
        got = {}
        for server, (number, holding) in running.items():
            try:
                got[server] = self._usage(number, holding)
            except (ProcessLookupError, errors.DeadlineError) as exc:
                LOG.debug('What server %s has got is not known: %s', server, exc)
        return got

    def _usage(self, number: int, holding: ledger.Holding) -> Mapping[int, usage.Usage]:
        with contextlib.suppress(KeyError, ProcessLookupError):
            return deadline_usage.of_threads(self._scheduler, self._counted[number], holding)
        found = self._counted[number] = self._threads_of(number)
        return deadline_usage.of_threads(self._scheduler, found, holding)

    def _held(self, number: int) -> list[int]:
        held = [0] * len(self.empty.capacity)
        self._add(held, threads.present(self._scheduler, self._threads_of(number)))
        return held

    @staticmethod
    def _add(held: list[int], settings: Iterable[threads.Setting]) -> None:
        for setting in settings:
            if len(setting.pcpus) == 1:
                held[min(setting.pcpus)] += setting.attributes.bandwidth
