# SPDX-License-Identifier: Apache-2.0
"""The kernel's cgroup interfaces to real-time budgets, behind one interface.

A further dialect is a subclass, listed in :data:`nova_rt.virt.cgroup.detect.DIALECTS`.
"""

import abc
from collections.abc import Sequence

from nova_rt import shares
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import limits
from nova_rt.virt.cgroup.tree import CgroupTree

RUNTIME = 'cpu.rt_runtime_us'
PERIOD = 'cpu.rt_period_us'
MULTI_RUNTIME = 'cpu.rt_multi_runtime_us'

_DRY_PERIOD_US = 100_000

# What HCBS with a runtime for each pCPU guarantees.
GUARANTEED = ('every container gets its runtime in every period on each of its '
              'pCPUs, whatever else runs')


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
    counts_kernel_servers = True
    """Whether the kernel's own servers take from what groups may have."""
    versions: tuple[int, ...] = (1, 2)
    """The versions of control groups on which it is spoken."""
    one_runtime = False
    """Whether a group has the same runtime on all pCPUs on which it has any."""

    def __init__(self, tree: CgroupTree, count: int) -> None:
        self.tree = tree
        self.count = count

    @classmethod
    @abc.abstractmethod
    def recognizes(cls, tree: CgroupTree, group: str) -> bool:
        """Return whether this non-root group has the files of the dialect."""

    def try_out(self, group: str) -> None:
        """Write a budget of 0, and find out what the presence of files does not say.

        How many pCPUs the kernel knows, for one.

        :raises KernelRefusalError: if the files cannot be written
        """
        self.count = len(self.read(group).runtimes_us)
        self.write(group, budget.Budget(_DRY_PERIOD_US, (0,) * self.count))

    def bounded(self, group: str) -> bool:
        """Return whether a group has a budget; if not, those above bound it.

        :raises MissingControlFileError: if the group or its files are gone
        """
        return True

    def covering(self, needed: Sequence[int], held: budget.Budget) -> budget.Budget:
        """Return the least budget that a group may have which holds those below it.

        :param needed: their bandwidths by pCPU, in fixed point
        :param held: what the group has: it keeps the period, and tells where it may have any
        """
        return budget.covering(held.period_us, needed)

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

    def give(self, group: str, wanted: budget.Budget) -> None:
        """Give a container's own group a budget, and what it needs for that.

        :raises CgroupError: as :meth:`write` does
        """
        self.write(group, wanted)

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
    counts_kernel_servers = False
    one_runtime = True

    @classmethod
    def recognizes(cls, tree: CgroupTree, group: str) -> bool:
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
        if limits.is_unlimited(self.tree.proc):
            raise errors.UnenforcedError(
                'kernel.sched_rt_runtime_us is -1, so the kernel enforces no '
                'reservation: set it to 950000.')
        root = self.read('')
        return min(limits.global_limit(self.tree.proc), *root.bandwidths)


class HCBSMulti(Dialect):
    """HCBS with one runtime per pCPU, 0 allowed, on cgroup 1 and 2.

    On version 2 a new group has no budget of its own, and says -1 for every
    pCPU: its tasks run within the nearest group above that has one, and so do
    the budgets of its children.
    """

    name = 'hcbs-multi'
    occupancy = shares.Occupancy.CHOSEN
    guarantee = GUARANTEED
    files = (MULTI_RUNTIME, PERIOD)

    @classmethod
    def recognizes(cls, tree: CgroupTree, group: str) -> bool:
        """See base class."""
        return tree.has(group, MULTI_RUNTIME)

    def bounded(self, group: str) -> bool:
        """See base class."""
        return not self.tree.read(group, MULTI_RUNTIME).startswith('-')

    def read(self, group: str) -> budget.Budget:
        """See base class; a group without a budget takes nothing."""
        return budget.Budget(
            int(self.tree.read(group, PERIOD)),
            tuple(max(0, int(word)) for word
                  in self.tree.read(group, MULTI_RUNTIME).split()))

    def write(self, group: str, wanted: budget.Budget) -> None:
        """See base class; all runtimes in one write."""
        old = self.read(group).runtimes_us
        lowest = tuple(map(min, old, wanted.runtimes_us))
        self._write_times(group, wanted, MULTI_RUNTIME,
                          None if lowest == old else _words(lowest),
                          _words(wanted.runtimes_us))

    def admitted(self) -> int:
        """Return what the kernel's own servers leave of the global limit."""
        return limits.beside_kernel_servers(self.tree.proc)


def _words(times: Sequence[int]) -> str:
    return ' '.join(map(str, times))
