# SPDX-License-Identifier: Apache-2.0
"""What a kernel admits on one pCPU, whatever its dialect.

All bandwidths are in the fixed point of :mod:`nova_rt.bandwidth`.
"""

import pathlib

from nova_rt import bandwidth
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup.tree import CgroupTree

_RUNTIME = 'sys/kernel/sched_rt_runtime_us'
_PERIOD = 'sys/kernel/sched_rt_period_us'

# What the kernel's fair server takes unless debugfs says otherwise
# (fair_server_init() in kernel/sched/fair.c).
_FAIR_SERVER = bandwidth.to_bandwidth(50_000, 1_000_000)


def is_unlimited(proc: pathlib.Path) -> bool:
    """Return whether kernel.sched_rt_runtime_us is -1: no limit at all."""
    return (proc / _RUNTIME).read_text().startswith('-')


def global_limit(proc: pathlib.Path) -> int:
    """Return the bandwidth that kernel.sched_rt_runtime_us allows."""
    if is_unlimited(proc):
        return bandwidth.BW_UNIT
    return bandwidth.to_bandwidth(int((proc / _RUNTIME).read_text()),
                                  int((proc / _PERIOD).read_text()))


def fair_server(debugfs: pathlib.Path = pathlib.Path('/sys/kernel/debug'),
                ) -> int:
    """Return the largest bandwidth of the fair servers of all pCPUs."""
    bandwidths = [
        bandwidth.to_bandwidth(int((server / 'runtime').read_text()),
                               int((server / 'period').read_text()))
        for server in debugfs.glob('sched/fair_server/cpu*')]
    return max(bandwidths, default=_FAIR_SERVER)


def beside_fair_server(proc: pathlib.Path) -> int:
    """Return what the fair server leaves of the global limit.

    HCBS admits groups as SCHED_DEADLINE servers, as the fair server is one.
    """
    return global_limit(proc) - fair_server()


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
    return min(pool, beside_fair_server(tree.proc))
