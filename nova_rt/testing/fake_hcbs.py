# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for kernels with HCBS on control groups version 2, in memory.

They share the rules of admission of :mod:`nova_rt.testing.fake_kernel`, and are
used like it. The files alone differ, by what the research branches, the
documentation of the proposed series, and that of our kernel say. With hcbs-list
and hcbs-max the root group has a pool, :data:`POOL`, that all groups take from.
"""

from collections.abc import Collection
from collections.abc import Iterator
import errno
import pathlib

from nova_rt import bandwidth
from nova_rt.testing import fake_kernel
from nova_rt.virt import cpus
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import hcbs

# Runtime and period in µs, as an operator gives the root group, which has 0
# after boot.
POOL = (900_000, 1_000_000)
CPUS = 'cpuset.cpus'
EFFECTIVE_CPUS = 'cpuset.cpus.effective'


class _FakePoolKernel(fake_kernel.FakeKernel):
    """On cgroup v2; the root group has a pool, a new group has no period.

    :param count: how many pCPUs the kernel knows
    """

    def __init__(self, count: int = 4, proc: pathlib.Path = pathlib.Path('/proc'),
                 ) -> None:
        super().__init__(count, proc=proc)
        self.version = 2
        self.least_us = bandwidth.MIN_RUNTIME_US
        root = self._groups['']
        root.runtimes_us = [POOL[0]] * self.count
        root.period_us = POOL[1]

    def make(self, group: str) -> None:
        super().make(group)
        self._groups[group].period_us = 0


class FakeListKernel(_FakePoolKernel):
    """Files that hold a time for each pCPU, and take times with CPU lists."""

    def read(self, group: str, name: str) -> str:
        if not self.has(group, name):
            raise self._missing(group, name)
        held = self._groups[group]
        times = ([held.period_us] * self.count if name == dialect.PERIOD
                 else held.runtimes_us)
        return ' '.join(map(str, times if group else times[:1])) + '\n'

    def _change(self, group: str, name: str, text: str) -> int | None:
        words = text.split()
        if group:
            times = [0] * self.count
            if len(words) % 2:
                return errno.EINVAL
            for time, where in zip(words[::2], words[1::2], strict=True):
                for cpu in where.split(','):
                    times[int(cpu)] = int(time)
        else:
            times = [int(words[0])] * self.count
        if name == dialect.RUNTIME:
            return self._set(group, self._groups[group].period_us, times)
        return self._set(group, times[0], self._groups[group].runtimes_us)


class _FakeUnboundedKernel(fake_kernel.FakeKernel):
    """A new group has no budget of its own: those above bound its children.

    :ivar unbounded: the groups without a budget of their own
    """

    unbounded: set[str]

    def make(self, group: str) -> None:
        super().make(group)
        self.unbounded.add(group)

    def _bound(self, group: str, period_us: int, runtimes_us: list[int]) -> int | None:
        was_unbounded = group in self.unbounded
        self.unbounded.discard(group)
        number = self._set(group, period_us, runtimes_us)
        if number and was_unbounded:
            self.unbounded.add(group)
        return number

    def _above(self, group: str) -> str:
        above = super()._above(group)
        return self._above(above) if above in self.unbounded else above

    def _below(self, group: str) -> Iterator[str]:
        for child in super()._below(group):
            if child in self.unbounded:
                yield from self._below(child)
            else:
                yield child


class FakeMaxKernel(_FakeUnboundedKernel, _FakePoolKernel):
    """One file with a runtime for all pCPUs, or "max", and a period."""

    def __init__(self, count: int = 4, proc: pathlib.Path = pathlib.Path('/proc'),
                 ) -> None:
        super().__init__(count, proc)
        self.unbounded = set()

    def read(self, group: str, name: str) -> str:
        if not self.has(group, name):
            raise self._missing(group, name)
        held = self._groups[group]
        runtime = (hcbs.UNBOUNDED if group in self.unbounded
                   else held.runtimes_us[0])
        return f'{runtime} {held.period_us}\n'

    def _files(self) -> set[str]:
        return {hcbs.MAX}

    def _change(self, group: str, name: str, text: str) -> int | None:
        try:
            runtime, period = map(int, text.split())
        except ValueError:
            return errno.EINVAL
        return self._bound(group, period, [runtime] * self.count)


class FakeCpusetKernel(FakeMaxKernel):
    """The same file, whose runtime is for the pCPUs of the group's cpuset.

    :ivar changes_cpusets: whether the cpuset of a group with a budget can change
    """

    def __init__(self, count: int = 4, proc: pathlib.Path = pathlib.Path('/proc'),
                 ) -> None:
        self.cpusets: dict[str, frozenset[int]] = {}
        self.changes_cpusets = True
        super().__init__(count, proc)

    def remove(self, group: str) -> None:
        super().remove(group)
        self.cpusets.pop(group, None)

    def read(self, group: str, name: str) -> str:
        if name == 'cgroup.controllers':
            return 'cpuset cpu\n'
        if not self.has(group, name):
            raise self._missing(group, name)
        if name in (CPUS, EFFECTIVE_CPUS):
            pcpus = self.cpusets.get(group, ()) if name == CPUS else self._confined(group)
            return ','.join(map(str, sorted(pcpus))) + '\n'
        if name == hcbs.EFFECTIVE:
            return ''.join(f'{pcpu} runtime={own} period={self._groups[group].period_us}\n'
                           for pcpu, own in enumerate(self._own(group)))
        runtime, period = super().read(group, name).split()
        if runtime != hcbs.UNBOUNDED:
            runtime = str(max(self._groups[group].runtimes_us))
        return f'{runtime} {period}\n'

    def _own(self, group: str) -> list[int | str]:
        """Return what is left to a group by those below it, by pCPU, in µs."""
        if group in self.unbounded:
            return [hcbs.UNBOUNDED] * self.count
        return [each * self._groups[group].period_us >> bandwidth.BW_SHIFT
                for each in self._left(group)]

    def _files(self) -> set[str]:
        return {hcbs.MAX, hcbs.EFFECTIVE, CPUS, EFFECTIVE_CPUS}

    def _change(self, group: str, name: str, text: str) -> int | None:
        if name == CPUS:
            if not self.changes_cpusets and group not in self.unbounded:
                return errno.EINVAL
            self.cpusets[group] = cpus.parse(text)
            return None
        return super()._change(group, name, text)

    def _bound(self, group: str, period_us: int, runtimes_us: list[int]) -> int | None:
        confined = self._confined(group)
        return super()._bound(group, period_us, [
            runtime_us if pcpu in confined else 0
            for pcpu, runtime_us in enumerate(runtimes_us)])

    def _confined(self, group: str) -> Collection[int]:
        """Return those of a group's cpuset that those above have; if none, all of these."""
        if not group:
            return frozenset(range(self.count))
        above = self._confined(self._parent(group))
        return self.cpusets.get(group, frozenset()).intersection(above) or above


class FakeMultiKernel(_FakeUnboundedKernel):
    """Our kernel on version 2, by the files of hcbs-multi.

    :param count: how many pCPUs the kernel knows
    """

    def __init__(self, count: int = 4, proc: pathlib.Path | None = None) -> None:
        super().__init__(count, multi=True, proc=proc)
        self.version = 2
        self.unbounded = set()

    def read(self, group: str, name: str) -> str:
        if group in self.unbounded and name == dialect.MULTI_RUNTIME:
            return ' '.join(['-1'] * self.count) + '\n'
        return super().read(group, name)

    def _change(self, group: str, name: str, text: str) -> int | None:
        try:
            times = [int(word) for word in text.split()]
        except ValueError:
            return errno.EINVAL
        if name == dialect.MULTI_RUNTIME:
            return self._bound(group, self._groups[group].period_us, times)
        if name == dialect.PERIOD and group in self.unbounded:
            self._groups[group].period_us = times[0]
            return None
        return super()._change(group, name, text)
