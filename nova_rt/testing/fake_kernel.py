# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the kernel's real-time control groups, in memory.

It is for tests that need a fault, or a number of pCPUs, that this machine does not
have. It admits, refuses and rounds as ``tg_set_rt_bandwidth()`` and
``__rt_schedulable()`` of kernel/sched/rt.c do, for every pCPU on its own where
the dialect has a runtime for each. Use it wherever a
:class:`nova_rt.virt.cgroup.tree.CgroupTree` is expected::

    kernel = fake_kernel.FakeKernel(count=8, multi=True)
    kernel.start(7, 'machine/web')
    dialect = detect.detect(kernel, kernel.count)
    ContainerHost(dialect, shares.HostShares.empty(capacity)).apply(7, holding)
    assert kernel.bandwidths('machine/web') == [...]
"""

from collections.abc import Iterable
from collections.abc import Iterator
import errno
import pathlib
import tempfile

from nova_rt import bandwidth
from nova_rt.testing import fake_proc
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import tree

# Runtime and period of the root group, in µs.
ROOT_LIMIT = (950_000, 1_000_000)
# The threads of a group, of which there are none: its processes are a test's own.
THREADS = 'tasks'


class _Group:
    def __init__(self, count: int) -> None:
        self.period_us = 1_000_000
        self.runtimes_us = [0] * count
        self.busy = False


class FakeKernel(tree.CgroupTree):
    """Groups that admit budgets like a kernel, on control groups version 1.

    :param count: how many pCPUs the kernel knows
    :param multi: offer one runtime per pCPU, as ``hcbs-multi`` does;
        otherwise one for all, as ``rt-group`` does
    :param limit: runtime and period of the root group, in µs
    :param proc: what stands in for procfs; by default one as it is after boot
    :ivar refuse_next: the errno with which the next write is refused, None if it
        is decided by the kernel's rules
    :ivar refuse_containers: the errno with which every write to a group that is
        not directly below the root is refused
    :ivar lingering: parent and bandwidths by pCPU of groups that are removed but
        still counted, see :meth:`stop_and_linger`
    :ivar writes: group, file and text of every write, refused ones too
    :ivar pids: the group of each process
    """

    def __init__(self, count: int = 4, multi: bool = False,
                 proc: pathlib.Path | None = None,
                 limit: tuple[int, int] = ROOT_LIMIT) -> None:
        if proc is None:
            self._directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            proc = fake_proc.write(pathlib.Path(self._directory.name))
        super().__init__(pathlib.Path('/fake'), 1, proc)
        self.count = count
        self.multi = multi
        self.least_us = bandwidth.MIN_RUNTIME_US if multi else 1
        self.refuse_next: int | None = None
        self.refuse_containers: int | None = None
        self.lingering: list[tuple[str, list[int]]] = []
        self.writes: list[tuple[str, str, str]] = []
        self.pids: dict[int, str] = {}
        self._groups = {'': _Group(count)}
        root = self._groups['']
        root.runtimes_us = [limit[0]] * count
        root.period_us = limit[1]

    # What a test does to it.

    def start(self, pid: int, group: str) -> None:
        """Make a group, with those above it, and put a process into it."""
        parts = group.split('/')
        for length in range(1, len(parts) + 1):
            path = '/'.join(parts[:length])
            if path not in self._groups:
                self.make(path)
        self.pids[pid] = group

    def stop(self, pid: int) -> None:
        """End a process and remove its group."""
        self.remove(self.pids.pop(pid))

    def stop_and_linger(self, pid: int) -> None:
        """End a process; its group is gone, but counted until :meth:`let_go`."""
        group = self.pids[pid]
        self.lingering.append((self._parent(group), self.bandwidths(group)))
        self.stop(pid)

    def let_go(self) -> None:
        """Stop counting the groups that were removed."""
        self.lingering.clear()

    def run_realtime(self, group: str) -> None:
        """Let a real-time task run in a group, as sched_setscheduler() does.

        :raises PermissionError: if it has no runtime
        """
        if not any(self._groups[group].runtimes_us):
            raise PermissionError(errno.EPERM, 'Operation not permitted')
        self.set_busy(group, True)

    def set_busy(self, group: str, busy: bool) -> None:
        """Say whether real-time tasks run in a group, which keeps its runtime."""
        self._groups[group].busy = busy

    def bandwidths(self, group: str) -> list[int]:
        """Return the bandwidth of a group by pCPU, in fixed point."""
        held = self._groups[group]
        return [bandwidth.to_bandwidth(runtime_us, held.period_us)
                if held.period_us else 0
                for runtime_us in held.runtimes_us]

    def percents(self, group: str) -> list[int]:
        """Return the bandwidth of a group by pCPU, in whole percent."""
        return [round(100 * each / bandwidth.BW_UNIT) for each in self.bandwidths(group)]

    # What nova-rt does to it: see the base class.

    def group_of(self, pid: int) -> str:
        try:
            return self.pids[pid]
        except KeyError:
            raise ProcessLookupError(f'There is no process {pid}.') from None

    def exists(self, group: str) -> bool:
        return group in self._groups

    def has(self, group: str, name: str) -> bool:
        # The cpu controller is on everywhere.
        return group in self._groups and name in {'cpu.weight', *self._files()}

    def children(self, group: str) -> Iterator[str]:
        yield from [path for path in self._groups
                    if path and self._parent(path) == group]

    def make(self, group: str) -> None:
        self._groups[group] = _Group(self.count)

    def remove(self, group: str) -> None:
        del self._groups[group]

    def read(self, group: str, name: str) -> str:
        if not self.has(group, name):
            raise self._missing(group, name)
        held = self._groups[group]
        if name == THREADS:
            return ''
        if name == dialect.PERIOD:
            return f'{held.period_us}\n'
        if name == dialect.RUNTIME:
            return f'{held.runtimes_us[0]}\n'
        return ' '.join(map(str, held.runtimes_us)) + '\n'

    def write(self, group: str, name: str, text: str) -> None:
        if not self.has(group, name):
            raise self._missing(group, name)
        self.writes.append((group, name, text))
        number = self.refuse_next
        self.refuse_next = None
        if not number and '/' in group:
            number = self.refuse_containers
        number = number or self._change(group, name, text)
        if number:
            raise errors.kernel_refusal(group, name, text, number)

    def _files(self) -> set[str]:
        files = {dialect.PERIOD, dialect.RUNTIME, THREADS}
        return files | {dialect.MULTI_RUNTIME} if self.multi else files

    def _change(self, group: str, name: str, text: str) -> int | None:
        held = self._groups[group]
        try:
            times = [int(word) for word in text.split()]
        except ValueError:
            return errno.EINVAL
        if name == dialect.PERIOD:
            return self._set(group, times[0], held.runtimes_us)
        if name == dialect.RUNTIME:
            times *= self.count
        return self._set(group, held.period_us, times)

    def _set(self, group: str, period_us: int,
             runtimes_us: list[int]) -> int | None:
        """Change a group, unless there is an objection; return that."""
        held = self._groups[group]
        before = held.period_us, held.runtimes_us
        held.period_us, held.runtimes_us = period_us, runtimes_us
        number = self._objection(group)
        if number:
            held.period_us, held.runtimes_us = before
        return number

    def _objection(self, group: str) -> int | None:
        held = self._groups[group]
        if len(held.runtimes_us) != self.count:
            return errno.EINVAL
        # The stock kernel has no least runtime; -1 is no limit, never below
        # a group that has one.
        if held.period_us < 1 or any(
                runtime_us < 0 or 0 < runtime_us < self.least_us
                or runtime_us > held.period_us
                for runtime_us in held.runtimes_us):
            return errno.EINVAL
        if held.busy and not any(held.runtimes_us):
            return errno.EBUSY
        families = [group] if group == '' else [group, self._above(group)]
        return None if all(map(self._fits, families)) else errno.EINVAL

    def _fits(self, parent: str) -> bool:
        return min(self._left(parent)) >= 0

    def _left(self, parent: str) -> list[int]:
        """Return what a group has beyond those that it bounds, by pCPU."""
        have = self.bandwidths(parent)
        for child in self._below(parent):
            have = _less(have, self.bandwidths(child))
        for above, held in self.lingering:
            if above == parent:
                have = _less(have, held)
        return have

    def _above(self, group: str) -> str:
        """Return the group that bounds a group."""
        return self._parent(group)

    def _below(self, group: str) -> Iterable[str]:
        """Yield the groups that a group bounds."""
        return self.children(group)

    @staticmethod
    def _parent(group: str) -> str:
        return group.rpartition('/')[0]


def _less(have: list[int], held: list[int]) -> list[int]:
    return [whole - part for whole, part in zip(have, held, strict=True)]
