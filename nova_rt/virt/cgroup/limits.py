# SPDX-License-Identifier: Apache-2.0
"""What a kernel admits on one pCPU, whatever its dialect.

All bandwidths are in the fixed point of :mod:`nova_rt.bandwidth`.
"""

from collections import Counter
import contextlib
import pathlib
import platform

from nova_rt import bandwidth
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup.tree import CgroupTree

_RUNTIME = 'sys/kernel/sched_rt_runtime_us'
_PERIOD = 'sys/kernel/sched_rt_period_us'

# What each of the kernel's own servers takes unless debugfs says otherwise
# (fair_server_init() in kernel/sched/fair.c, ext_server_init() in ext.c).
_AFTER_BOOT = bandwidth.to_bandwidth(50_000, 1_000_000)
# Where an operator changes them.
WHERE = 'the fair and ext servers in /sys/kernel/debug/sched/*_server'
# The first release with an ext server.
_EXT_SERVER = (7, 0)


def is_unlimited(proc: pathlib.Path) -> bool:
    """Return whether kernel.sched_rt_runtime_us is -1: no limit at all."""
    return (proc / _RUNTIME).read_text().startswith('-')


def global_limit(proc: pathlib.Path) -> int:
    """Return the bandwidth that kernel.sched_rt_runtime_us allows."""
    if is_unlimited(proc):
        return bandwidth.BW_UNIT
    return bandwidth.to_bandwidth(int((proc / _RUNTIME).read_text()),
                                  int((proc / _PERIOD).read_text()))


def kernel_servers(debugfs: pathlib.Path = pathlib.Path('/sys/kernel/debug'),
                   sysfs: pathlib.Path = pathlib.Path('/sys')) -> int:
    """Return the most that the kernel's own servers may take of a pCPU.

    The fair server is for normal tasks and, since Linux 7.0, the ext server for those of
    a sched_ext scheduler. Both count, though later kernels attach the second only while
    it has tasks: such a scheduler may be loaded at any time. A server whose runtime is 0
    takes nothing.
    """
    by_pcpu: Counter[str] = Counter()
    # A kernel that is locked down (Secure Boot) lists its debugfs and lets nobody read it.
    with contextlib.suppress(PermissionError):
        for server in debugfs.glob('sched/*_server/cpu*'):
            by_pcpu[server.name] += bandwidth.to_bandwidth(
                int((server / 'runtime').read_text()), int((server / 'period').read_text()))
    if by_pcpu:
        return max(by_pcpu.values())
    return _AFTER_BOOT * (2 if _has_ext_server(sysfs) else 1)


def _has_ext_server(sysfs: pathlib.Path) -> bool:
    """Return whether the kernel has one, as far as can be told without debugfs."""
    major, minor = platform.release().split('.')[:2]
    return ((sysfs / 'kernel/sched_ext').is_dir()
            and (int(major), int(minor)) >= _EXT_SERVER)


def beside_kernel_servers(proc: pathlib.Path) -> int:
    """Return what the kernel's own servers leave of the global limit.

    HCBS admits groups as SCHED_DEADLINE servers, as these are.
    """
    return global_limit(proc) - kernel_servers()


def within_pool(tree: CgroupTree, pool: int, advice: str) -> int:
    """Return what HCBS admits on one pCPU where the root group has a pool.

    :param pool: its bandwidth
    :param advice: how it is set
    :raises UnenforcedError: if it is 0, as it is after boot
    """
    if not pool:
        raise errors.UnenforcedError(
            f'The root group {tree.root} has a budget of 0, so the kernel '
            f'admits no reservation: {advice}.')
    return min(pool, beside_kernel_servers(tree.proc))
