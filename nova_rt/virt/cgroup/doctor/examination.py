# SPDX-License-Identifier: Apache-2.0
"""Looks for what keeps a host from holding reservations, and says what to do.

Nothing is changed, but for a group of our own below the root, which is made,
given a thousandth of each pCPU for a moment, and removed.
"""

from collections.abc import Callable
from collections.abc import Iterator
import pathlib

from nova_rt import bandwidth
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import limits
from nova_rt.virt.cgroup.dialect import Dialect
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.cgroup.doctor import groups
from nova_rt.virt.cgroup.doctor.finding import Finding
from nova_rt.virt.cgroup.doctor.machine import Machine


def examine(machine: Machine) -> list[Finding]:
    """Run every check; the first finding names the dialect.

    Without a dialect, only the checks that need none are run.
    """
    findings = list(_layout(machine))
    dialect = None
    try:
        dialect = detect.detect(machine.tree, 1 + max(machine.present), machine.wanted)
    except errors.CgroupError as exc:
        findings.insert(0, finding.from_error('dialect', exc))
    else:
        findings.insert(0, _dialect(dialect))
    if dialect is not None:
        for check in _CHECKS:
            findings += check(machine, dialect)
    findings.append(pcpus(machine.present, machine.online))
    return findings


def _dialect(dialect: Dialect | None) -> Finding:
    if dialect is None:
        return finding.wrong(
            'dialect', 'none: the kernel has no real-time control groups',
            'boot a kernel with HCBS or CONFIG_RT_GROUP_SCHED, or set '
            '[rt] hcbs_scheduler_available=false')
    return finding.good('dialect', f'{dialect.name}: {dialect.guarantee}')


def _layout(machine: Machine) -> Iterator[Finding]:
    """Check which version of control groups has the cpu controller."""
    tree = machine.tree
    if tree is None:
        yield finding.wrong('cgroup layout', 'the cpu controller is mounted nowhere',
                            'mount the control groups')
        return
    layout = f'version {tree.version} at {tree.root}'
    unified = _unified_mounts(tree.proc)
    if tree.version == 1 and unified:
        yield finding.warning(
            'cgroup layout',
            f'{layout}, and version 2 beside it at {unified[0]}: libvirt 9 '
            'starts no container then',
            f'unmount {unified[0]}, or start libvirtd and nova-rt-compute in a '
            'mount namespace without it')
        return
    for group in machine.machine_groups:
        if tree.version == 2 and tree.exists(group) and not tree.has(
                group, 'cpu.weight'):
            yield finding.wrong(
                'cgroup layout',
                f'{layout}, but the cpu controller is off in /{group}',
                'give real-time tasks outside of the root group the normal '
                f'policy, and write +cpu to {tree.root}/cgroup.subtree_control')
            return
    yield finding.good('cgroup layout', layout)


def _unified_mounts(proc: pathlib.Path) -> list[str]:
    mounts = [line.split() for line in
              (proc / 'self/mounts').read_text().splitlines()]
    return [mount[1] for mount in mounts if mount[2:3] == ['cgroup2']]


def _sysctl(machine: Machine, dialect: Dialect) -> Iterator[Finding]:
    """Check the global limit, and what it and the kernel leave."""
    limit = limits.global_limit(dialect.tree.proc)
    try:
        admitted = dialect.admitted()
    except errors.UnenforcedError as exc:
        yield finding.from_error('sysctl', exc)
        return
    found = (f'the global limit is {bandwidth.percent(limit)}, the kernel '
             f'admits {bandwidth.percent(admitted)} of a pCPU')
    if admitted < machine.cap:
        yield finding.warning(
            'sysctl', f'{found}, less than [rt] cap, {bandwidth.percent(machine.cap)}',
            'raise kernel.sched_rt_runtime_us, or lower the cap' + (
                f' or {limits.WHERE}'
                if dialect.counts_kernel_servers else ''))
    else:
        yield finding.good('sysctl', found)


def _kernel_servers(machine: Machine, dialect: Dialect) -> Iterator[Finding]:
    """Check what the kernel keeps for other tasks; HCBS alone counts it."""
    if not dialect.counts_kernel_servers:
        return
    held = bandwidth.percent(limits.kernel_servers(machine.debugfs))
    if not (machine.debugfs / 'sched').is_dir():
        yield finding.warning(
            'kernel servers', f'they cannot be seen; {held} of each pCPU is assumed to be '
            'held for tasks without reservation', f'mount -t debugfs none {machine.debugfs}')
    else:
        yield finding.good(
            'kernel servers', f'they hold {held} of each pCPU for tasks without reservation')


def pcpus(present: frozenset[int], online: frozenset[int]) -> Finding:
    """Check that all pCPUs are online."""
    offline = present - online
    if not offline:
        return finding.good('pCPUs', f'all {len(present)} are online')
    names = ', '.join(map(str, sorted(offline)))
    return finding.warning(
        'pCPUs', f'{len(online)} of {len(present)} are online; '
        f'{names} can hold nothing',
        'write 1 to /sys/devices/system/cpu/cpuN/online, and restart '
        'nova-rt-compute')


_CHECKS: tuple[Callable[[Machine, Dialect], Iterator[Finding]], ...] = (
    _sysctl, _kernel_servers, groups.root, groups.machine_groups,
    groups.waiting, groups.foreign)
