# SPDX-License-Identifier: Apache-2.0
"""The dialects of HCBS on control groups version 2.

Research branches of HCBS speak ``hcbs-list``, the series proposed for the kernel
speaks ``hcbs-max`` (RFC v6 and its Documentation/scheduler/sched-rt-group).
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import errno
import re

from nova_rt import ledger
from nova_rt import shares
from nova_rt.virt import cpus
from nova_rt.virt import cpuset
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import limits
from nova_rt.virt.cgroup.tree import CgroupTree

MAX = 'cpu.rt.max'
EFFECTIVE = 'cpu.rt.max.effective.local'
UNBOUNDED = 'max'

# Where a group has none, as new ones do not.
_PERIOD_US = 1_000_000
# A pCPU and the runtime that no group below has taken.
_OWN = re.compile(r'^(\d+) runtime=(\d+)', re.MULTILINE)


class HCBSList(dialect.Dialect):
    """HCBS with lists of times and CPUs in the files of stock groups.

    Read, a file has a time for each pCPU; written, a time and a list of pCPUs,
    repeated, and 0 for the pCPUs not named. Our own kernel on version 2 shows
    what could be written, or one time for all. The root group has one time
    only: the pool that all groups take from.
    """

    name = 'hcbs-list'
    occupancy = shares.Occupancy.CHOSEN
    guarantee = dialect.GUARANTEED
    files = (dialect.RUNTIME, dialect.PERIOD)
    versions = (2,)

    @classmethod
    def recognizes(cls, tree: CgroupTree, group: str) -> bool:
        """See base class; a single time is another dialect's."""
        return (tree.has(group, dialect.RUNTIME)
                and len(tree.read(group, dialect.RUNTIME).split()) > 1)

    def read(self, group: str) -> budget.Budget:
        """See base class; runtimes are given for the longest period."""
        periods = self._times(group, dialect.PERIOD)
        longest = max(periods) or _PERIOD_US
        return budget.Budget(longest, tuple(
            -(-runtime * longest // period) if period else 0
            for runtime, period in zip(
                self._times(group, dialect.RUNTIME), periods, strict=True)))

    def write(self, group: str, wanted: budget.Budget) -> None:
        """See base class; every pCPU has the same period."""
        old = self._times(group, dialect.RUNTIME)
        lowest = tuple(map(min, old, wanted.runtimes_us))
        periods = (wanted.period_us,) * self.count
        if self._times(group, dialect.PERIOD) != periods:
            # A new group has period 0, where not even runtime 0 can be written.
            if lowest != old:
                self.tree.write(group, dialect.RUNTIME, as_list(lowest))
            self.tree.write(group, dialect.PERIOD, as_list(periods))
        self.tree.write(group, dialect.RUNTIME, as_list(wanted.runtimes_us))

    def admitted(self) -> int:
        """Return what is left by the fair server, within the pool."""
        return limits.within_pool(
            self.tree, self.read('').bandwidths[0],
            f'write 1000000 to {dialect.PERIOD} and 900000 to '
            f'{dialect.RUNTIME} there')

    def _times(self, group: str, name: str) -> tuple[int, ...]:
        # Our kernel says -1 for a group without a budget, which takes nothing.
        words = ['0' if word == '-1' else word
                 for word in self.tree.read(group, name).split()]
        if len(words) == 1:
            return (int(words[0]),) * self.count
        if not _names_cpus(words):
            return tuple(map(int, words))
        times = {cpu: int(time) for time, where
                 in zip(words[::2], words[1::2], strict=True)
                 for cpu in cpus.parse(where)}
        return tuple(times.get(cpu, 0) for cpu in range(self.count))


class HCBSMax(dialect.Dialect):
    """HCBS with runtime and period in one file.

    A group that says "max" has no budget of its own: its tasks run within the
    nearest group above that has one, and so do the budgets of its children.

    A group has the runtime on every pCPU. With newer kernels, which say in
    :data:`EFFECTIVE` what each pCPU has, that is every one of the cpuset that it is
    in while it is written.
    """

    name = 'hcbs-max'
    occupancy = shares.Occupancy.EVERY
    guarantee = ('every container gets its runtime in every period on each '
                 'pCPU of the host, whatever else runs; the kernel takes one '
                 'runtime for all of them')
    files = (MAX,)
    versions = (2,)
    one_runtime = True

    @classmethod
    def recognizes(cls, tree: CgroupTree, group: str) -> bool:
        """See base class."""
        return tree.has(group, MAX)

    def try_out(self, group: str) -> None:
        """See base class; here, whether a group has runtime in its cpuset only.

        Without the cpuset controller in the same hierarchy, it has it on every pCPU.
        """
        super().try_out(group)
        if (self.tree.has(group, EFFECTIVE)
                and 'runtime=' in self.tree.read(group, EFFECTIVE)
                and 'cpuset' in self.tree.read('', 'cgroup.controllers').split()):
            self.occupancy = shares.Occupancy.CHOSEN
            self.guarantee = dialect.GUARANTEED

    def covering(self, needed: Sequence[int], held: budget.Budget) -> budget.Budget:
        """See base class: the largest runtime, also wherever the group has any."""
        least = super().covering(needed, held)
        return budget.Budget(least.period_us, tuple(budget.levelled(
            least.runtimes_us, least.pcpus | held.pcpus)))

    def bounded(self, group: str) -> bool:
        """See base class."""
        return not self.tree.read(group, MAX).startswith(UNBOUNDED)

    def read(self, group: str) -> budget.Budget:
        """See base class; a group without a budget takes nothing."""
        runtime, period = self.tree.read(group, MAX).split()
        held = 0 if runtime == UNBOUNDED else int(runtime)
        where = self._pcpus(group) if held and group else range(self.count)
        return budget.Budget(int(period) or _PERIOD_US, tuple(
            held if pcpu in where else 0 for pcpu in range(self.count)))

    def write(self, group: str, wanted: budget.Budget) -> None:
        """See base class; one write changes both, so nothing is in between."""
        self.tree.write(group, MAX, f'{max(wanted.runtimes_us)} {wanted.period_us}')

    def give(self, group: str, wanted: budget.Budget) -> None:
        """See base class; its cpuset decides which pCPUs that are."""
        with self._confined(group, wanted.pcpus):
            self.write(group, wanted)

    def _pcpus(self, group: str) -> Collection[int]:
        """Return where a group has runtime, of its own or taken by groups below it."""
        every = range(self.count)
        if self.occupancy is shares.Occupancy.EVERY:
            return every
        has = self._own(group)
        groups = [group]
        while groups and not has.issuperset(every):
            for child in hierarchy.bounded_below(self, groups.pop()):
                with contextlib.suppress(errors.MissingControlFileError):
                    has |= self._own(child)
                    groups.append(child)
        # Those that have ended may be counted still, with all of it.
        return has or cpuset.read(self.tree, group) or every

    def _own(self, group: str) -> set[int]:
        """Return where a group has runtime that none below it has taken."""
        return {int(pcpu) for pcpu, runtime_us in _OWN.findall(self.tree.read(group, EFFECTIVE))
                if int(runtime_us)}

    @contextlib.contextmanager
    def _confined(self, group: str, pcpus: frozenset[int]) -> Iterator[None]:
        """Let a group have these pCPUs; if that fails, those that it had.

        :raises KernelRefusalError: if it cannot have them only
        """
        if not pcpus or self.occupancy is shares.Occupancy.EVERY:
            yield
            return
        confined = cpuset.read(self.tree, group)
        if confined is None and len(pcpus) == self.count:
            yield
            return
        if confined != pcpus:
            self._confine(group, pcpus)
        try:
            if others := cpuset.effective(self.tree, group) - pcpus:
                raise errors.KernelRefusalError(
                    f'The cpusets above /{group} keep it from its pCPUs, and it would have its '
                    f'budget on {ledger.ranges(sorted(others))}: widen them, or set [rt] cpu_set '
                    'to what they allow.', errno.EBUSY)
            yield
        except errors.CgroupError:
            if confined not in (None, pcpus):
                self._confine(group, confined)
            raise

    def _confine(self, group: str, pcpus: frozenset[int]) -> None:
        try:
            cpuset.write(self.tree, group, pcpus)
        except errors.KernelRefusalError as exc:
            # Proposed kernels do not let it change while a group has a budget.
            if exc.errno != errno.EINVAL:
                raise
            raise errors.KernelRefusalError(
                f'The kernel does not let the pCPUs of /{group} change while it has a budget: '
                'stop its server first.', errno.EBUSY) from None

    def admitted(self) -> int:
        """Return what is left by the fair server, within the root's budget."""
        return limits.within_pool(
            self.tree, self.read('').bandwidths[0],
            f'write "900000 1000000" to {MAX} there')


def _names_cpus(words: Sequence[str]) -> bool:
    """Return whether every second word names CPUs.

    If all are numbers, each names one, and 1 is among them, which is no runtime
    and no period.
    """
    where = words[1::2]
    return not all(map(str.isdecimal, words)) or (
        len(where) > 1 and sorted(map(int, where)) == list(range(len(where))))


def as_list(times: Sequence[int]) -> str:
    """Return times by pCPU as hcbs-list takes them: ``400 0,2 0 1,3``."""
    where: dict[int, list[str]] = {}
    for cpu, time in enumerate(times):
        where.setdefault(time, []).append(str(cpu))
    return ' '.join(f'{time} {",".join(named)}'
                    for time, named in where.items())
