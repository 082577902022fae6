# SPDX-License-Identifier: Apache-2.0
"""Finds out which dialect a kernel speaks, by looking and by a dry write."""

import os

from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hcbs
from nova_rt.virt.cgroup.tree import CgroupTree

# The first that recognizes its files is taken: the most exact ones first.
DIALECTS: tuple[type[dialect.Dialect], ...] = (
    dialect.HCBSMulti, hcbs.HCBSList, hcbs.HCBSMax, dialect.RTGroup)


def probe_group() -> str:
    """Return the name of a group of our own below the root, for a moment."""
    return f'nova-rt-probe-{os.getpid()}'


def detect(tree: CgroupTree | None, count: int,
           wanted: str | None = None) -> dialect.Dialect | None:
    """Return the dialect that the kernel speaks, None if it speaks none.

    A group of our own is made below the root, looked at, written to with
    runtime 0, and removed.

    :param count: how many pCPUs the kernel knows, where its files do not say
    :param wanted: the name of the only dialect that will do
    :raises UnspokenError: if the kernel has not got the files of that one
    :raises KernelRefusalError: if no group can be made, or its files are there
        but cannot be written
    :raises MissingControlFileError: if nothing can be seen, as the controller is
        off: systemd turns it on with the first container only
    """
    if tree is None:
        return None
    probe = probe_group()
    tree.make(probe)
    try:
        for candidate in DIALECTS:
            if (_has_files(candidate, tree, probe) if candidate.name == wanted
                    else not wanted and candidate.recognizes(tree, probe)):
                detected = candidate(tree, count)
                detected.try_out(probe)
                return detected
        if tree.version == 2 and not tree.has(probe, 'cpu.weight'):
            raise errors.MissingControlFileError(
                'The cpu controller is off for the groups below the root: '
                f'write +cpu to {tree.root}/cgroup.subtree_control.')
        if wanted:
            raise errors.UnspokenError(
                f'The kernel does not have the control files of {wanted}, which [rt] dialect '
                'names: unset that option, and nova-rt-compute finds the dialect itself.')
        return None
    finally:
        tree.remove(probe)


def _has_files(candidate: type[dialect.Dialect], tree: CgroupTree, probe: str) -> bool:
    """Return whether a kernel has the files of a dialect, of which it may have several."""
    return (tree.version in candidate.versions
            and all(tree.has(probe, name) for name in candidate.files))
