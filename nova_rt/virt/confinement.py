# SPDX-License-Identifier: Apache-2.0
"""Confines a container's threads to its pCPUs.

libvirt does that when the container starts, by a cpuset and by the affinity that its
threads inherit. Both must follow when its pCPUs change: from Linux 6.2 on, the kernel
holds a thread to the affinity that it was given, whatever its cpuset allows later
(__set_cpus_allowed_ptr() in kernel/sched/core.c); older kernels give every thread the
whole cpuset when that changes.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import errno
import os

from nova_rt import ledger
from nova_rt.virt import cpuset
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup.tree import CgroupTree

# By version of control groups, the file with the threads of a group.
_THREADS = {1: 'tasks', 2: 'cgroup.threads'}
# How often threads are looked for that others have started meanwhile.
_TRIES = 20


class UnseenError(errors.CgroupError):
    """A container's threads cannot be seen, or do not stay; says what to do."""


class ConfinedError(errors.CgroupError):
    """A container confines a thread itself; says where."""


class Confinement:
    """Where the threads of containers may run.

    :param tree: the groups of the cpu controller, which have the threads
    :param cpusets: the groups of the cpuset controller, None without one
    """

    def __init__(self, tree: CgroupTree, cpusets: CgroupTree | None) -> None:
        self._tree = tree
        self._cpusets = cpusets

    def follow(self, group: str, pcpus: frozenset[int]) -> None:
        """Confine a container to its pCPUs if its cpuset has others.

        libvirt starts a container that reboots itself where it was first.

        :raises CgroupError: if the kernel refuses
        :raises UnseenError: if its threads cannot be seen
        """
        confined = self._cpuset(group)
        if confined is not None and confined != pcpus:
            self.move(group, confined, pcpus)

    def move(self, group: str, before: frozenset[int], after: frozenset[int]) -> None:
        """Let a container's threads run on other pCPUs.

        A thread keeps those that stay, and has the new ones if it had one that goes.

        :raises CgroupError: if the kernel refuses
        :raises UnseenError: if its threads cannot be seen, or it starts new ones all
            the time
        """
        had = dict(self._affinities(group))

        def mapped(thread: int) -> frozenset[int]:
            return _mapped(had.get(thread, before), before, after)

        self._confine(group, before | after)
        self._pin(group, mapped)
        self._confine(group, after)
        self._pin(group, mapped)
        for _ in range(_TRIES):
            if all(affinity <= after for _, affinity in self._affinities(group)):
                return
            self._pin(group, mapped)
        raise UnseenError(
            f'The container of /{group} starts threads faster than they can be taken to '
            'its pCPUs: try again when it does less.')

    def _pin(self, group: str, mapped: Callable[[int], frozenset[int]]) -> None:
        for thread, affinity in self._affinities(group):
            if affinity != mapped(thread):
                with contextlib.suppress(ProcessLookupError):
                    _set_affinity(thread, mapped(thread))

    def _affinities(self, group: str) -> Iterator[tuple[int, frozenset[int]]]:
        for thread in self._threads(group):
            with contextlib.suppress(ProcessLookupError):
                yield thread, frozenset(os.sched_getaffinity(thread))

    def _threads(self, group: str) -> Iterator[int]:
        """Yield the threads of a group and of those below it.

        :raises UnseenError: if they are in a pid namespace that is not above this one
        """
        for line in self._tree.read(group, _THREADS[self._tree.version]).split():
            if line == '0':
                raise UnseenError(
                    f'The threads of /{group} cannot be seen from here: run '
                    "nova-rt-compute in the host's pid namespace.")
            yield int(line)
        for child in self._tree.children(group):
            # A container may remove groups of its own at any time.
            with contextlib.suppress(errors.MissingControlFileError):
                yield from self._threads(child)

    def _cpuset(self, group: str) -> frozenset[int] | None:
        return None if self._cpusets is None else cpuset.read(self._cpusets, group)

    def _confine(self, group: str, pcpus: frozenset[int]) -> None:
        if self._cpusets is not None and self._cpuset(group) not in (None, pcpus):
            cpuset.write(self._cpusets, group, pcpus)


def _set_affinity(thread: int, pcpus: frozenset[int]) -> None:
    """Let a thread run on these pCPUs only.

    :raises ProcessLookupError: if it has ended
    :raises ConfinedError: if the kernel refuses
    """
    try:
        os.sched_setaffinity(thread, pcpus)
    except ProcessLookupError:
        raise
    except OSError as exc:
        raise ConfinedError(
            f'The kernel does not let thread {thread} run on pCPUs '
            f'{ledger.ranges(sorted(pcpus))} ({errno.errorcode.get(exc.errno or 0, exc.errno)}): '
            'its container confines it by a cpuset of its own.') from None


def _mapped(affinity: frozenset[int], before: frozenset[int],
            after: frozenset[int]) -> frozenset[int]:
    """Return where a thread may run afterwards."""
    leaves = affinity & (before - after)
    # What undoes a move begins with both pCPUs: there, nothing comes.
    return affinity & after | ((after - before or after) if leaves else frozenset()) or after
