# SPDX-License-Identifier: Apache-2.0
"""The reservations of one host, as its kernel holds them."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import errno
import pathlib
import re

from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import bandwidth
from nova_rt import drifts
from nova_rt import errors
from nova_rt import ledger
from nova_rt import shares
from nova_rt.virt import cpus
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import survey
from nova_rt.virt.cgroup import tree as cgroup_tree
from nova_rt.virt.cgroup.doctor import examination
from nova_rt.virt.cgroup.doctor import finding

LOG = logging.getLogger(__name__)

# The groups that libvirt puts its containers below, without and with systemd.
MACHINE_GROUPS = ('machine', 'machine.slice')

# What it calls the group of a container (virDomainGenerateMachineName and,
# with systemd, virSystemdMakeScopeName), and systemd's group for its processes.
_NAME = r'(machine-)?lxc(-|\\x2d){pid}(-|\\x2d)'
_INNER = 'libvirt'

_CPUS = pathlib.Path('/sys/devices/system/cpu')


class UnavailableError(errors.NovaRTError):
    """The host cannot offer reservations; the message says what to do."""


class ReservationHost:
    """Applies reservations to containers and takes them back.

    :param spoken: the kernel's dialect, None for a host that offers nothing
    :param empty: the host's pCPUs without any reservation
    :param tops: the groups that containers are put below
    """

    def __init__(self, spoken: dialect.Dialect | None,
                 empty: shares.HostShares,
                 tops: Sequence[str] = MACHINE_GROUPS) -> None:
        self.empty = empty
        self._tops = tops
        self._dialect = spoken
        self._hierarchy = hierarchy.Hierarchy(spoken) if spoken else None

    @classmethod
    def open(cls, conf: cfg.ConfigOpts) -> 'ReservationHost':
        """Return this machine as the options and its kernel have it.

        :param conf: with group ``[rt]`` registered
        :raises UnavailableError: if reservations are to be offered but cannot be
        """
        count = 1 + max(cpus.parse((_CPUS / 'present').read_text()))
        online = cpus.parse((_CPUS / 'online').read_text())
        if not conf.rt.hcbs_scheduler_available:
            LOG.info('Reservations are turned off by '
                     '[rt] hcbs_scheduler_available.')
            return cls(None, shares.HostShares.empty((0,) * count))
        usable = _usable(conf.rt.cpu_set, online)
        cap = bandwidth.fraction_to_bandwidth(conf.rt.cap)
        try:
            spoken = detect.detect(cgroup_tree.CgroupTree.find(), count)
            most = min(cap, spoken.admitted()) if spoken else 0
        except (cgroup_tree.KernelRefusalError, cgroup_tree.MissingControlFileError,
                dialect.UnenforcedError) as why:
            raise UnavailableError(str(why)) from None
        if spoken is None:
            raise UnavailableError(
                'The kernel has no real-time control groups (no '
                'cpu.rt_runtime_us in the groups of the cpu controller): '
                'boot a kernel with HCBS or RT_GROUP_SCHED, or set '
                '[rt] hcbs_scheduler_available=false.')
        if most <= 0:
            raise UnavailableError(
                'The kernel admits no reservation beside its fair server '
                '(kernel.sched_rt_runtime_us): set it to 950000.')
        LOG.info('Dialect %s, up to %s of each of the pCPUs %s; %s.',
                 spoken.name, bandwidth.percent(most), sorted(usable),
                 spoken.guarantee)
        return cls(spoken, shares.HostShares.empty(
            [most if cpu in usable else 0 for cpu in range(spoken.count)],
            spoken.occupancy))

    @property
    def dialect(self) -> str:
        """The name of the kernel's dialect, ``none`` without one."""
        return self._dialect.name if self._dialect else 'none'

    def apply(self, pid: int, holding: ledger.Holding) -> None:
        """Give a container its budget, if it does not have it already.

        :param pid: of the container's controller, libvirt's id of it
        :raises KernelRefusalError: if the kernel does not admit it
        :raises MissingControlFileError: if there is nothing to write to
        :raises ProcessLookupError: if the container has ended
        :raises UnavailableError: if this host offers no reservations
        """
        if self._dialect is None or self._hierarchy is None:
            raise UnavailableError(
                'This host offers no reservations: '
                '[rt] hcbs_scheduler_available is false.')
        group = self.group_of(pid)
        if group is None:
            raise ProcessLookupError(
                f'Process {pid} has no control group below '
                f'/{" or /".join(self._tops)}: its container has ended.')
        wanted = self._budget(holding)
        if not self._hierarchy.holds(group, wanted):
            self._admit(group, wanted)
            LOG.info('Applied %d µs every %d µs on pCPUs %s to /%s',
                     holding.reservation.runtime_us,
                     holding.reservation.period_us,
                     sorted(holding.pcpus), group)

    def _admit(self, group: str, wanted: budget.Budget) -> None:
        """Apply a budget, when the kernel has let go of what has ended.

        It counts a removed group for a moment; that it takes back what the
        groups above held for it shows that it does no longer.
        """
        try:
            self._hierarchy.apply(group, wanted)
        except cgroup_tree.KernelRefusalError as refusal:
            if refusal.errno != errno.EINVAL:
                raise
            self.settle_all()
            self._hierarchy.apply(group, wanted)

    def group_of(self, pid: int) -> str | None:
        """Return a container's group, to settle when it has ended.

        None if it has ended already or this host offers no reservations.
        """
        if self._dialect is None:
            return None
        return self._told_group(self._dialect.tree, pid) or self._named_group(
            self._dialect.tree, pid)

    def _told_group(self, tree: cgroup_tree.CgroupTree,
                    pid: int) -> str | None:
        try:
            group = tree.group_of(pid)
        except ProcessLookupError:
            return None
        # A process that has ended, but not been waited for, is in the root;
        # the budget would be the whole machine's.
        return group if group.startswith(
            tuple(f'{top}/' for top in self._tops)) else None

    def _named_group(self, tree: cgroup_tree.CgroupTree,
                     pid: int) -> str | None:
        """Return the group that libvirt named after a controller.

        Where nova-rt-compute is in a container of its own, as with Kolla, it
        sees the host's groups, but not its processes.
        """
        name = re.compile(_NAME.format(pid=pid))
        for top in self._tops:
            for group in tree.children(top):
                if name.match(group.removeprefix(f'{top}/')):
                    inner = f'{group}/{_INNER}'
                    return inner if tree.exists(inner) else group
        return None

    def settle(self, group: str) -> None:
        """Take back what the groups above an ended container still hold."""
        if self._hierarchy is not None:
            self._hierarchy.settle(group)

    def reconcile(self, running: Iterable[tuple[int, ledger.Holding]]) -> None:
        """Make the kernel hold what the running containers hold, no more.

        :param running: process and holding of each; one that cannot be
            applied is logged, the others are not affected
        """
        if self._dialect is None:
            return
        for pid, holding in running:
            try:
                self.apply(pid, holding)
            except ProcessLookupError:
                LOG.debug('A container ended meanwhile.')
            except (cgroup_tree.KernelRefusalError,
                    cgroup_tree.MissingControlFileError) as why:
                LOG.error('A running container is without its reservation: '
                          '%s', why)
        self.settle_all()

    def settle_all(self) -> None:
        """Take back what no running container needs, on the whole host."""
        if self._dialect is None:
            return
        for group in self._tops:
            if self._dialect.tree.exists(group):
                self.settle(f'{group}/ended')

    def look(self, running: Mapping[str, int]) -> drifts.Kernel | None:
        """Return what the kernel holds, None if nothing is offered here.

        :param running: by server, a process of its container
        """
        if self._dialect is None:
            return None
        groups = {server: self.group_of(pid)
                  for server, pid in running.items()}
        return survey.survey(self._dialect, self._tops, {
            server: group for server, group in groups.items() if group})

    def _budget(self, holding: ledger.Holding) -> budget.Budget:
        count = len(self.empty.capacity)
        if self.empty.occupancy is shares.Occupancy.EVERY:
            return budget.on_every(holding.reservation, count)
        return budget.on_chosen(holding.reservation, holding.pcpus, count)


def examine(conf: cfg.ConfigOpts) -> list[finding.Finding]:
    """Return what keeps this machine from holding reservations.

    :param conf: with group ``[rt]`` registered
    """
    present = cpus.parse((_CPUS / 'present').read_text())
    online = cpus.parse((_CPUS / 'online').read_text())
    findings = examination.examine(finding.Machine(
        cgroup_tree.CgroupTree.find(), present, online,
        bandwidth.fraction_to_bandwidth(conf.rt.cap), MACHINE_GROUPS))
    try:
        _usable(conf.rt.cpu_set, online)
    except UnavailableError as why:
        findings.append(finding.refused('options', why))
    if not conf.rt.hcbs_scheduler_available:
        findings.append(finding.Finding(
            'options', finding.WARNING, 'this host offers no reservations',
            'set [rt] hcbs_scheduler_available=true'))
    return findings


def _usable(cpu_set: str | None, online: frozenset[int]) -> frozenset[int]:
    """Return the pCPUs that may hold reservations.

    :raises UnavailableError: if the option makes no sense on this machine
    """
    if not cpu_set:
        return online
    try:
        wanted = cpus.parse(cpu_set)
    except ValueError:
        raise UnavailableError(
            f'[rt] cpu_set is {cpu_set!r}: write numbers and ranges, for '
            'example 2-7,10.') from None
    if not wanted <= online:
        missing = ', '.join(map(str, sorted(wanted - online)))
        raise UnavailableError(
            f'[rt] cpu_set names pCPU(s) {missing}, which are not online: '
            'bring them up or leave them out.')
    return wanted
