# SPDX-License-Identifier: Apache-2.0
"""The kernel's cgroup interfaces to real-time budgets, behind one face.

A further dialect is a subclass, listed in :data:`nova_rt.virt.cgroup.detect.DIALECTS`.
"""

import abc
from collections.abc import Sequence
import pathlib

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import tree as cgroup_tree

RUNTIME = 'cpu.rt_runtime_us'
PERIOD = 'cpu.rt_period_us'
MULTI_RUNTIME = 'cpu.rt_multi_runtime_us'

_LIMIT = 'sys/kernel/sched_rt_runtime_us'

# What the kernel's fair server takes unless debugfs says otherwise
# (fair_server_init() in kernel/sched/fair.c).
_FAIR_SERVER = bandwidth.to_bandwidth(50_000, 1_000_000)


# What HCBS with a runtime for each pCPU promises.
GUARANTEED = ('every container gets its runtime in every period on each of its '
              'pCPUs, whatever else runs')


class UnenforcedError(cgroup_tree.CgroupError):
    """The kernel is set to enforce, or admit, no budget; says what to do."""


class Dialect(abc.ABC):
    """One way in which a kernel takes real-time budgets.

    :param tree: the groups
    :param count: how many pCPUs the kernel knows
    """

    name: str
    occupancy: shares.Occupancy
    guarantee: str
    """What the kernel guarantees, as a sentence for people."""
    files: tuple[str, ...]
    """The control files that a group has; budgets are in the first."""
    counts_fair_server = True
    """Whether the fair server takes from what groups may have."""

    def __init__(self, tree: cgroup_tree.CgroupTree, count: int) -> None:
        self.tree = tree
        self.count = count

    @classmethod
    @abc.abstractmethod
    def spoken(cls, tree: cgroup_tree.CgroupTree, group: str) -> bool:
        """Return whether this non-root group has the files of the dialect."""

    def bounded(self, group: str) -> bool:
        """Return whether a group has a budget; if not, those above bound it.

        :raises MissingControlFileError: if the group or its files are gone
        """
        return True

    @abc.abstractmethod
    def read(self, group: str) -> budget.Budget:
        """Return the budget of a group.

        :raises MissingControlFileError: if the group or its files are gone
        """

    @abc.abstractmethod
    def write(self, group: str, wanted: budget.Budget) -> None:
        """Give a group a budget.

        :raises MissingControlFileError: if the group or its files are gone
        :raises KernelRefusalError: if the kernel does not admit it; the group
            then has its old budget or, in between, one that is smaller
        """

    @abc.abstractmethod
    def admitted(self) -> int:
        """Return the bandwidth that the kernel admits on one pCPU.

        :raises UnenforcedError: if it is set to enforce no budgets at all
        """

    def _write_times(self, group: str, wanted: budget.Budget,
                     name: str, lowest: str | None, runtime: str) -> None:
        """Write runtimes and period, never with a runtime over the period.

        The kernel checks every single write, so a period is changed under
        the smaller of old and new runtimes.

        :param name: the file of the runtimes
        :param lowest: the smaller of old and new, None if these are the old
        """
        period = int(self.tree.read(group, PERIOD))
        if period != wanted.period_us:
            if lowest is not None:
                self.tree.write(group, name, lowest)
            self.tree.write(group, PERIOD, str(wanted.period_us))
        self.tree.write(group, name, runtime)


class RTGroup(Dialect):
    """Stock RT_GROUP_SCHED on cgroup version 1: one runtime for all pCPUs."""

    name = 'rt-group'
    occupancy = shares.Occupancy.EVERY
    guarantee = ('stock real-time groups throttle a container to its '
                 'reservation, but guarantee it no deadline: a SCHED_FIFO '
                 'task of higher priority outside can take its time')
    files = (RUNTIME, PERIOD)
    counts_fair_server = False

    @classmethod
    def spoken(cls, tree: cgroup_tree.CgroupTree, group: str) -> bool:
        """See base class."""
        return tree.version == 1 and tree.has(group, RUNTIME)

    def read(self, group: str) -> budget.Budget:
        """See base class."""
        return budget.Budget(
            int(self.tree.read(group, PERIOD)),
            (max(0, int(self.tree.read(group, RUNTIME))),) * self.count)

    def write(self, group: str, wanted: budget.Budget) -> None:
        """See base class; the runtimes are all equal."""
        new = wanted.runtimes_us[0]
        old = max(0, int(self.tree.read(group, RUNTIME)))
        self._write_times(group, wanted, RUNTIME,
                          str(new) if new < old else None, str(new))

    def admitted(self) -> int:
        """Return the least of the global limit and the root group's.

        Without a global limit sched_rt_runtime_exceeded() and
        __sched_setscheduler() ask for no group's (rt_bandwidth_enabled()).
        """
        if (self.tree.proc / _LIMIT).read_text().startswith('-'):
            raise UnenforcedError(
                'kernel.sched_rt_runtime_us is -1, so the kernel enforces no '
                'reservation: set it to 950000.')
        root = self.read('')
        return min(global_limit(self.tree.proc), *root.bandwidths)


class HCBSMulti(Dialect):
    """HCBS with one runtime per pCPU, 0 allowed, on cgroup 1 and 2."""

    name = 'hcbs-multi'
    occupancy = shares.Occupancy.CHOSEN
    guarantee = GUARANTEED
    files = (MULTI_RUNTIME, PERIOD)

    @classmethod
    def spoken(cls, tree: cgroup_tree.CgroupTree, group: str) -> bool:
        """See base class."""
        return tree.has(group, MULTI_RUNTIME)

    def read(self, group: str) -> budget.Budget:
        """See base class."""
        return budget.Budget(
            int(self.tree.read(group, PERIOD)),
            tuple(map(int, self.tree.read(group, MULTI_RUNTIME).split())))

    def write(self, group: str, wanted: budget.Budget) -> None:
        """See base class; all runtimes in one write."""
        old = self.read(group).runtimes_us
        lowest = tuple(map(min, old, wanted.runtimes_us))
        self._write_times(group, wanted, MULTI_RUNTIME,
                          None if lowest == old else _words(lowest),
                          _words(wanted.runtimes_us))

    def admitted(self) -> int:
        """Return the global limit less what the fair server holds."""
        return global_limit(self.tree.proc) - fair_server()


def within_pool(tree: cgroup_tree.CgroupTree, pool: int, advice: str) -> int:
    """Return what HCBS admits on one pCPU where the root group has a pool.

    :param pool: its bandwidth
    :param advice: how it is set
    :raises UnenforcedError: if it is 0, as it is after boot
    """
    if not pool:
        raise UnenforcedError(
            f'The root group {tree.root} has a budget of 0, so the kernel '
            f'admits no reservation: {advice}.')
    return min(pool, global_limit(tree.proc) - fair_server())


def _words(times: Sequence[int]) -> str:
    return ' '.join(map(str, times))


def global_limit(proc: pathlib.Path) -> int:
    """Return the bandwidth that kernel.sched_rt_runtime_us allows."""
    runtime_us = int((proc / _LIMIT).read_text())
    period_us = int((proc / 'sys/kernel/sched_rt_period_us').read_text())
    if runtime_us < 0:
        return bandwidth.BW_UNIT
    return bandwidth.to_bandwidth(runtime_us, period_us)


def fair_server(debugfs: pathlib.Path = pathlib.Path('/sys/kernel/debug'),
                ) -> int:
    """Return the largest bandwidth of the fair servers of all pCPUs."""
    found = [
        bandwidth.to_bandwidth(int((server / 'runtime').read_text()),
                               int((server / 'period').read_text()))
        for server in debugfs.glob('sched/fair_server/cpu*')]
    return max(found, default=_FAIR_SERVER)
