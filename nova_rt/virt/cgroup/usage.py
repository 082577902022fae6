# SPDX-License-Identifier: Apache-2.0
"""What a container's group has got on each pCPU.

Our kernel counts for each group and CPU (``cpu.rt_stat``). Others count CPU time only, in
version 1 by CPU (``cpuacct.usage_percpu``), and then of normal tasks as well.
"""

import functools

from nova_rt import usage
from nova_rt.virt.cgroup.dialect import Dialect
from nova_rt.virt.cgroup.tree import CgroupTree

_STATISTICS = 'cpu.rt_stat'
_ACCOUNT = 'cpuacct.usage_percpu'


class Reader:
    """Reads what groups have got.

    :param dialect: the kernel's
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def read(self, group: str) -> dict[int, usage.Usage]:
        """Return what a group has got, by pCPU.

        :raises MissingControlFileError: if the group is gone
        """
        enforced = [max(0, bandwidth) for bandwidth in self._dialect.read(group).bandwidths]
        if self._dialect.tree.has(group, _STATISTICS):
            lines = self._dialect.tree.read(group, _STATISTICS).splitlines()
            return {pcpu: _counted(enforced[pcpu], counts)
                    for pcpu, counts in map(_parsed, lines)}
        used = self._used_us(group)
        return {pcpu: usage.Usage(bandwidth, used[pcpu] if used else None)
                for pcpu, bandwidth in enumerate(enforced)}

    def _used_us(self, group: str) -> list[int]:
        """Return the CPU time by pCPU, nothing where the kernel does not count it so."""
        if self._cpuacct is None:
            return []
        return [int(word) // 1_000 for word in self._cpuacct.read(group, _ACCOUNT).split()]

    @functools.cached_property
    def _cpuacct(self) -> CgroupTree | None:
        return CgroupTree.find(self._dialect.tree.proc, 'cpuacct')


def _parsed(line: str) -> tuple[int, dict[str, int]]:
    """Return the pCPU of a line, and its counts by their names."""
    pcpu, *counts = line.split()
    return int(pcpu), {name: int(value) for name, _, value
                       in (count.partition('=') for count in counts)}


def _counted(enforced: int, counts: dict[str, int]) -> usage.Usage:
    return usage.Usage(enforced, counts['used_usec'], counts['throttled_usec'],
                       counts['nr_throttled'], counts['nr_overruns'])
