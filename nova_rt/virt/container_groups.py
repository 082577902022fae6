# SPDX-License-Identifier: Apache-2.0
"""Finds the control group in which libvirt runs a container."""

from collections.abc import Sequence
import re

from nova_rt.virt.cgroup.tree import CgroupTree

# The groups that libvirt puts its containers below, without and with systemd.
MACHINE_GROUPS = ('machine', 'machine.slice')

# What it calls the group of a container (virDomainGenerateMachineName and,
# with systemd, virSystemdMakeScopeName), and systemd's group for its processes.
_NAME = r'(machine-)?lxc(-|\\x2d){pid}(-|\\x2d)'
_INNER = 'libvirt'


def group_of(tree: CgroupTree, pid: int,
             tops: Sequence[str] = MACHINE_GROUPS) -> str | None:
    """Return a container's group, None if the container has ended.

    :param pid: of the container's controller, libvirt's id of it
    :param tops: the groups that containers are put below
    """
    return _group_of_process(tree, pid, tops) or _group_by_name(tree, pid, tops)


def _group_of_process(tree: CgroupTree, pid: int, tops: Sequence[str]) -> str | None:
    try:
        group = tree.group_of(pid)
    except ProcessLookupError:
        return None
    # A process that has ended, but not been waited for, is in the root;
    # the budget would be the whole machine's.
    below_tops = group.startswith(tuple(f'{top}/' for top in tops))
    return group if below_tops else None


def _group_by_name(tree: CgroupTree, pid: int, tops: Sequence[str]) -> str | None:
    """Return the group that libvirt named after a controller.

    Where nova-rt-compute is in a container of its own, as with Kolla, it
    sees the host's groups, but not its processes.
    """
    name = re.compile(_NAME.format(pid=pid))
    for top in tops:
        for group in tree.children(top):
            if name.match(group.removeprefix(f'{top}/')):
                inner = f'{group}/{_INNER}'
                return inner if tree.exists(inner) else group
    return None
