# SPDX-License-Identifier: Apache-2.0
"""Containers whose root is not the host's root.

In a user namespace the kernel grants a real-time policy up to the process's
RLIMIT_RTPRIO (``user_check_sched_setscheduler()``), which children inherit, and not to
CAP_SYS_NICE. So the limit is set on a container's first process, which waits for it
and for its reservation (``rt_init``).
"""

from collections.abc import Iterable
import os
import pathlib
import resource

from nova_rt.virt import procfs
from nova_rt.virt.cgroup import errors

# PROC_PID_INIT_INO, in include/linux/proc_ns.h.
_FIRST_PID_NAMESPACE = 'pid:[4026531836]'


def permit_realtime(controller: int, processes: Iterable[int], priority: int,
                    proc: pathlib.Path = procfs.PROC) -> None:
    """Let a container's processes choose real-time policies, in a user namespace.

    Elsewhere the container's root may do so already, and nothing is changed.

    :param controller: libvirt's process of the container, the parent of its first one
    :param processes: all of the container
    :param priority: the highest that they may choose, 1 to 99
    :param proc: where procfs is mounted
    :raises CgroupError: if this process may not
    """
    for process in processes:
        try:
            if procfs.state_and_parent(proc / str(process))[1] == controller and (
                    _user_namespace(str(process), proc) != _user_namespace('self', proc)):
                resource.prlimit(process, resource.RLIMIT_RTPRIO, (priority, priority))
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has ended.
        except PermissionError:
            raise errors.CgroupError(
                'The kernel does not let nova-rt-compute set the RLIMIT_RTPRIO of a '
                'container in a user namespace: run it as root, with CAP_SYS_RESOURCE.',
            ) from None


def sees_all_processes(proc: pathlib.Path = procfs.PROC) -> bool:
    """Return whether this process is in the host's own pid namespace."""
    return os.readlink(proc / 'self/ns/pid') == _FIRST_PID_NAMESPACE


def _user_namespace(process: str, proc: pathlib.Path) -> str:
    return os.readlink(proc / process / 'ns/user')
