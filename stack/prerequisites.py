# SPDX-License-Identifier: Apache-2.0
"""Whether this machine can run a stack, and if not, what is missing."""

from collections.abc import Sequence
import os

from nova_rt.virt.cgroup import errors
from stack import admission
from stack import host
from stack import kernel
from stack.errors import StackError


def missing(virt_type: str = 'lxc', hosts: int = 1, nodes: int = 0,
            more: Sequence[str] = ()) -> str:
    """Return why there cannot be such a stack here, '' if there can.

    :param virt_type: Nova's option for this machine, which matters without nodes.
    :param hosts: how many hosts of virtual machines this machine is to be.
    :param nodes: how many compute nodes it has in virtual machines.
    :param more: additions to the stack, see ``stack.services.MORE``
    """
    if nodes:
        return missing_for_nodes(more)
    if virt_type == 'lxc':
        return missing_for_containers()
    return missing_for_machines(hosts)


def missing_for_containers() -> str:
    """Return why a stack cannot run containers on this kernel, '' if it can."""
    try:
        host.check()
        dialect = kernel.spoken()
    except (StackError, errors.CgroupError) as exc:
        return str(exc)
    if dialect is None:
        return 'This kernel has no real-time control groups.'
    if dialect.tree.version != 1:
        return ('The stack needs the cpu controller in control groups of '
                'version 1.')
    return ''


def missing_for_machines(hosts: int = 1) -> str:
    """Return why a stack cannot run virtual machines on this kernel, '' if it can.

    :param hosts: how many hosts of them this machine is to be.
    """
    if (os.cpu_count() or 1) < hosts:
        return f'{hosts} hosts need as many pCPUs.'
    try:
        host.check(machines=True)
    except StackError as exc:
        return str(exc)
    if not admission.SYSCTL.exists():
        return 'This kernel has no kernel.sched_rt_runtime_us.'
    return ''


def missing_for_nodes(more: Sequence[str] = ()) -> str:
    """Return why a stack cannot have nodes in virtual machines, '' if it can.

    :param more: additions to the stack, see ``stack.services.MORE``
    """
    try:
        host.check(more, nodes=True)
    except StackError as exc:
        return str(exc)
    return ''
