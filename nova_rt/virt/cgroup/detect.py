# SPDX-License-Identifier: Apache-2.0
"""Finds out which dialect a kernel speaks, by looking and by a dry write."""

import os

from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import hcbs
from nova_rt.virt.cgroup import tree as cgroup_tree

# The first that is spoken is taken: the most exact ones first.
DIALECTS: tuple[type[dialect.Dialect], ...] = (
    dialect.HCBSMulti, hcbs.HCBSList, hcbs.HCBSMax, dialect.RTGroup)

_DRY = 100_000


def detect(tree: cgroup_tree.CgroupTree | None,
           count: int) -> dialect.Dialect | None:
    """Return the dialect that the kernel speaks, None if it speaks none.

    A group of our own is made below the root, looked at, written to with
    runtime 0, and removed.

    :param count: how many pCPUs the kernel knows, where it does not tell
    :raises KernelRefusalError: if no group can be made, or its files are there but
        cannot be written
    :raises MissingControlFileError: if nothing can be seen, as the controller is
        off: systemd turns it on with the first container only
    """
    if tree is None:
        return None
    probe = f'nova-rt-probe-{os.getpid()}'
    tree.make(probe)
    try:
        for each in DIALECTS:
            if each.spoken(tree, probe):
                spoken = each(tree, count)
                spoken.count = len(spoken.read(probe).runtimes_us)
                spoken.write(probe, budget.Budget(_DRY, (0,) * spoken.count))
                return spoken
        if tree.version == 2 and not tree.has(probe, 'cpu.weight'):
            raise cgroup_tree.MissingControlFileError(
                'The cpu controller is off for the groups below the root: '
                f'write +cpu to {tree.root}/cgroup.subtree_control.')
        return None
    finally:
        tree.remove(probe)
