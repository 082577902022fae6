# SPDX-License-Identifier: Apache-2.0
"""The reservations of a host for containers, as its kernel holds them."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from oslo_log import log as logging

from nova_rt import drifts
from nova_rt import ledger
from nova_rt import shares
from nova_rt import usage
from nova_rt.virt import confinement
from nova_rt.virt import container_groups
from nova_rt.virt import host
from nova_rt.virt import lending
from nova_rt.virt import loans
from nova_rt.virt import shrinking
from nova_rt.virt import shrinks
from nova_rt.virt import user_namespaces
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors as cgroup_errors
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import survey
from nova_rt.virt.cgroup import tree
from nova_rt.virt.cgroup import usage as cgroup_usage
from nova_rt.virt.cgroup.dialect import Dialect

LOG = logging.getLogger(__name__)


class ContainerHost(host.Host):
    """Applies reservations to containers and takes them back.

    :func:`nova_rt.virt.this_host.from_options` returns that of this machine.

    :param dialect: the kernel's, None for a host that offers nothing
    :param empty: the host's pCPUs without any reservation
    :param tops: the groups that containers are put below
    :param cpusets: the groups of the cpuset controller, None without one
    :param book: the loans of this machine's containers
    """

    lends = True

    def __init__(self, dialect: Dialect | None, empty: shares.HostShares,
                 tops: Sequence[str] = container_groups.MACHINE_GROUPS,
                 cpusets: tree.CgroupTree | None = None,
                 book: loans.Loans | None = None) -> None:
        self.empty = empty
        self._tops = tops
        self._dialect = dialect
        self._hierarchy = hierarchy.Hierarchy(dialect) if dialect else None
        self._lending = lending.Lending(
            self._hierarchy, tops, empty, book or loans.Loans()) if self._hierarchy else None
        self._confinement = confinement.Confinement(
            dialect.tree, cpusets) if dialect else None
        self._reader = cgroup_usage.Reader(dialect) if dialect else None

    @property
    def dialect(self) -> str:
        """The name of the kernel's dialect, ``none`` without one."""
        return self._dialect.name if self._dialect else 'none'

    def apply(self, pid: int, holding: ledger.Holding) -> None:
        """Give a container its budget, if it does not have it already.

        :param pid: of the container's controller, libvirt's id of it
        :raises KernelRefusalError: if the kernel does not admit it
        :raises MissingControlFileError: if there is nothing to write to
        :raises UnseenError: if it cannot be confined to its pCPUs
        :raises ProcessLookupError: if the container has ended
        :raises UnavailableError: if this host offers no reservations
        """
        groups, lent, confined, group = self._running(pid)
        resident = self._resident(pid, holding)
        if self._is_elsewhere(groups.held(group), resident.own):
            self.move(pid, holding)
            return
        # First: what cannot be confined is given no other budget.
        try:
            confined.follow(group, frozenset(holding.pcpus))
        except cgroup_errors.CgroupError as exc:
            if groups.held(group) != resident.own:
                raise
            LOG.error('A running container is not where its reservation is: %s', exc)
        with lent.turn():
            lent.give_back(group)
            before = groups.held(group)
            if before != resident.own:
                groups.own(group)
                lent.admit(group, resident.own, self._lower_tops)
                lent.left(group, before, resident.own)
                LOG.info('Applied %d µs every %d µs on pCPUs %s to /%s',
                         holding.reservation.runtime_us,
                         holding.reservation.period_us,
                         sorted(holding.pcpus), group)
            lent.gave(group, resident)

    def move(self, pid: int, holding: ledger.Holding) -> None:
        """See base class; it has a budget on both pCPUs while its threads go.

        :raises CgroupError: if the kernel refuses
        :raises UnavailableError: if this host offers no reservations, or they occupy
            every pCPU
        """
        if not self.can_move():
            raise host.UnavailableError(
                'Reservations occupy every pCPU of this host: no server can be moved.')
        groups, lent, confined, group = self._running(pid)
        resident = self._resident(pid, holding)
        with lent.turn():
            lent.give_back(group)
            lent.make_whole(group)
            before, after = groups.held(group), resident.own
            if before.period_us != after.period_us or not any(before.runtimes_us):
                # It has not its reservation yet: it may have rebooted itself just now.
                self.apply(pid, holding)
                return
            lent.admit(group, budget.together(before, after), self._lower_tops)
        confined.move(group, before.pcpus, frozenset(holding.pcpus))
        with lent.turn():
            # Something may have been lent meanwhile, on both pCPUs.
            lent.give_back(group)
            groups.apply(group, after)
            lent.left(group, before, after)
            lent.gave(group, resident)
        LOG.info('Moved /%s to pCPUs %s', group, sorted(holding.pcpus))

    def _is_elsewhere(self, held: budget.Budget, own: budget.Budget) -> bool:
        """Return whether a container has a budget from which its threads must go first.

        Whoever moved it was cut off.
        """
        return (self.can_move() and held.period_us == own.period_us
                and not held.pcpus <= own.pcpus)

    def can_move(self) -> bool:
        """See base class; not where a reservation occupies every pCPU."""
        return self.empty.occupancy is shares.Occupancy.CHOSEN

    @property
    def one_runtime(self) -> bool:
        """See base class."""
        return self._dialect is not None and self._dialect.one_runtime

    def lend(self, pid: int, most: int, until_s: float,
             shrink: bool = False) -> Mapping[int, int]:
        """See base class; of what no running container has, within the cap."""
        _, lent, _, group = self._running(pid)
        return lent.lend(group, most, until_s, shrink)

    def give_back(self, pid: int) -> bool:
        """See base class."""
        _, lent, _, group = self._running(pid)
        return lent.give_back(group)

    def loan(self, pid: int) -> Mapping[int, int]:
        """See base class."""
        group = self.group_of(pid)
        return {} if group is None or self._lending is None else self._lending.loan(group)

    def shrunk(self) -> Mapping[int, shrinks.Shrink]:
        """See base class."""
        return self._lending.shrunk() if self._lending else {}

    def given_up(self, running: Mapping[str, int]) -> Mapping[str, Sequence[int]]:
        """See base class; it is read as the audit does, by any process."""
        if self._lending is None:
            return {}
        found = {}
        for server, pid in running.items():
            group = self.group_of(pid)
            freed = self._lending.given_up(group) if group else None
            if freed is not None:
                found[server] = freed
        return found

    def _running(self, pid: int) -> tuple[
            hierarchy.Hierarchy, lending.Lending, confinement.Confinement, str]:
        """Return the groups of this host, and a container's.

        :raises ProcessLookupError: if the container has ended
        :raises UnavailableError: if this host offers no reservations
        """
        if self._hierarchy is None or self._lending is None or self._confinement is None:
            raise host.UnavailableError(
                'This host offers no reservations: '
                '[rt] hcbs_scheduler_available is false.')
        group = self.group_of(pid)
        if group is None:
            raise ProcessLookupError(
                f'Process {pid} has no control group below '
                f'/{" or /".join(self._tops)}: its container has ended.')
        return self._hierarchy, self._lending, self._confinement, group

    def try_out(self, holding: ledger.Holding) -> None:
        """See base class; containers are not migrated live, and :meth:`apply` tries."""

    def permit(self, number: int, priority: int) -> None:
        """See base class; a container needs it in a user namespace.

        :raises CgroupError: if that is not possible
        """
        group = self.group_of(number)
        if self._dialect is not None and group is not None:
            groups = self._dialect.tree
            user_namespaces.permit_realtime(
                number, groups.processes(group), priority, groups.proc)

    def group_of(self, pid: int) -> str | None:
        """Return a container's group, to take back its budget when it has ended.

        None if it has ended already or this host offers no reservations.
        """
        if self._dialect is None:
            return None
        return container_groups.group_of(self._dialect.tree, pid, self._tops)

    def take_back(self, group: str) -> None:
        """Take back what the groups above an ended container still hold.

        Who was shrunk for it has its reservation again.
        """
        if self._hierarchy and self._lending:
            self._hierarchy.take_back(group)
            self._lending.settle()

    def take_back_all(self) -> None:
        """Take back what no running container needs, on the whole host."""
        self._lower_tops()
        if self._lending is not None:
            self._lending.settle()

    def _lower_tops(self) -> None:
        if self._hierarchy is not None:
            for group in self._existing_tops():
                self._hierarchy.take_back(f'{group}/ended')

    def reconcile(self, running: Iterable[tuple[int, ledger.Holding]]) -> None:
        """See base class; with the process of each container."""
        if self._lending is None:
            return
        self._lending.settle()
        for pid, holding in running:
            try:
                if not self._keeps_loan(pid, holding):
                    self.apply(pid, holding)
            except ProcessLookupError:
                LOG.debug('The container of process %d has just ended.', pid)
            except cgroup_errors.CgroupError as exc:
                LOG.error('A running container is without its reservation: '
                          '%s', exc)
        self._lending.forget_ended()
        self._close_tops()
        self.take_back_all()

    def _keeps_loan(self, pid: int, holding: ledger.Holding) -> bool:
        """Return whether a container has its reservation and a loan, confined as it is."""
        _, lent, confined, group = self._running(pid)
        keeps = lent.keeps(group, self._resident(pid, holding))
        if keeps:
            confined.follow(group, frozenset(holding.pcpus))
        return keeps

    def _close_tops(self) -> None:
        """Keep real-time tasks from containers that have no reservation yet."""
        if self._hierarchy is None:
            return
        for group in self._existing_tops():
            try:
                self._hierarchy.close(group)
            except cgroup_errors.CgroupError as exc:
                LOG.warning('/%s could not be given a budget of its own: %s', group, exc)

    def _existing_tops(self) -> list[str]:
        if self._dialect is None:
            return []
        return [group for group in self._tops if self._dialect.tree.exists(group)]

    def survey(self, running: Mapping[str, int]) -> drifts.Kernel | None:
        """Return what the kernel holds, None if nothing is offered here.

        :param running: by server, a process of its container
        """
        if self._dialect is None or self._lending is None:
            return None
        groups = {server: self.group_of(pid)
                  for server, pid in running.items()}
        # A loan is no drift, nor is what is under way to become one.
        with self._lending.turn():
            found = survey.survey(self._dialect, self._tops, {
                server: group for server, group in groups.items() if group})
            return dataclasses.replace(found, containers={
                server: self._lending.without_loan(groups[server], held)
                for server, held in found.containers.items()})

    def usages(self, running: Mapping[str, tuple[int, ledger.Holding]],
               ) -> usage.ByServer:
        """See base class; only the pCPUs that a container may run on are counted."""
        if self._reader is None:
            return {}
        got = {}
        for server, (pid, holding) in running.items():
            group = self.group_of(pid)
            try:
                if group is not None:
                    by_pcpu = self._reader.read(group)
                    got[server] = {pcpu: by_pcpu[pcpu] for pcpu in holding.pcpus}
            except cgroup_errors.CgroupError as exc:
                LOG.debug('What server %s has got is not known: %s', server, exc)
        return got

    def _resident(self, pid: int, holding: ledger.Holding) -> shrinking.Resident:
        count = len(self.empty.capacity)
        own = budget.on_every(holding.reservation, count)
        if self.empty.occupancy is shares.Occupancy.CHOSEN:
            own = budget.on_chosen(holding.reservation, holding.pcpus, count)
        return shrinking.Resident(pid, own, holding.terms)
