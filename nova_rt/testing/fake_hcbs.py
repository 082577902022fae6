# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for kernels that speak hcbs-list and hcbs-max, in memory.

They share the rules of admission of :mod:`nova_rt.testing.fake_kernel`, and are
used like it. The files alone differ, by what the research branches and the
documentation of the proposed series say. Both are on control groups version 2,
where the root group has a pool, :data:`POOL`, that all groups take from.
"""

from collections.abc import Iterator
import errno
import pathlib

from nova_rt import bandwidth
from nova_rt.testing import fake_kernel
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import hcbs

# Runtime and period in µs, as an operator gives the root group, which has 0
# after boot.
POOL = (900_000, 1_000_000)


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
            for time, cpus in zip(words[::2], words[1::2], strict=True):
                for cpu in cpus.split(','):
                    times[int(cpu)] = int(time)
        else:
            times = [int(words[0])] * self.count
        if name == dialect.RUNTIME:
            return self._set(group, self._groups[group].period_us, times)
        return self._set(group, times[0], self._groups[group].runtimes_us)


class FakeMaxKernel(_FakePoolKernel):
    """One file with a runtime for all pCPUs, or "max", and a period.

    :ivar unbounded: the groups that say "max"
    """

    def __init__(self, count: int = 4, proc: pathlib.Path = pathlib.Path('/proc'),
                 ) -> None:
        super().__init__(count, proc)
        self.unbounded: set[str] = set()

    def make(self, group: str) -> None:
        super().make(group)
        self.unbounded.add(group)

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
        was_unbounded = group in self.unbounded
        self.unbounded.discard(group)
        number = self._set(group, period, [runtime] * self.count)
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
