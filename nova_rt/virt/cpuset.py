# SPDX-License-Identifier: Apache-2.0
"""The cpusets of control groups: which pCPUs the threads of a group may run on."""

from collections.abc import Iterator
import contextlib

from nova_rt import ledger
from nova_rt.virt import cpus
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup.tree import CgroupTree

_CPUS = 'cpuset.cpus'
_EFFECTIVE = 'cpuset.cpus.effective'


def read(tree: CgroupTree, group: str) -> frozenset[int] | None:
    """Return the pCPUs of a group's cpuset, None if it has none of its own.

    :param tree: the groups of the cpuset controller
    :raises KernelRefusalError: if it may not be read
    """
    if not tree.has(group, _CPUS):
        return None
    text = tree.read(group, _CPUS).strip()
    return cpus.parse(text) if text else None


def effective(tree: CgroupTree, group: str) -> frozenset[int]:
    """Return the pCPUs that a group has, which those above it may keep from its cpuset.

    :raises MissingControlFileError: if the controller is off there
    """
    text = tree.read(group, _EFFECTIVE).strip()
    return cpus.parse(text) if text else frozenset()


def write(tree: CgroupTree, group: str, pcpus: frozenset[int]) -> None:
    """Let the threads of a group run on these pCPUs only.

    :raises KernelRefusalError: if the kernel does not take that
    """
    tree.write(group, _CPUS, ledger.ranges(sorted(pcpus)))


@contextlib.contextmanager
def widened(tree: CgroupTree, thread: int, pcpu: int) -> Iterator[None]:
    """Let a thread be pinned to one pCPU more; after a failure, no longer.

    Before Linux 6.2 a cpuset that changes gives its threads all of its pCPUs: the
    caller pins it again.

    :raises KernelRefusalError: if the kernel does not take that
    :raises MissingControlFileError: if the thread's group cannot be seen from here
    :raises ProcessLookupError: if the thread has ended
    """
    group = tree.group_of(thread)
    if not tree.exists(group):
        raise errors.missing_group(group)
    before = read(tree, group)
    if before is None or pcpu in before:
        yield
        return
    write(tree, group, before | {pcpu})
    try:
        yield
    except BaseException:
        with contextlib.suppress(errors.CgroupError):
            write(tree, group, before)
        raise
