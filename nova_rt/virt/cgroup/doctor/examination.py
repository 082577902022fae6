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
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import tree as cgroup_tree
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.cgroup.doctor import groups
from nova_rt.virt.cgroup.doctor.finding import Finding
from nova_rt.virt.cgroup.doctor.finding import Machine


def examine(machine: Machine) -> list[Finding]:
    """Look at everything; the first finding names the dialect."""
    findings = list(_layout(machine))
    spoken = None
    try:
        spoken = detect.detect(machine.tree, 1 + max(machine.present))
    except (cgroup_tree.KernelRefusalError,
            cgroup_tree.MissingControlFileError) as why:
        findings.insert(0, finding.refused('dialect', why))
    else:
        findings.insert(0, _dialect(spoken))
    if spoken is not None:
        for check in _CHECKS:
            findings += check(machine, spoken)
    findings += _cpus(machine)
    return findings


def _dialect(spoken: dialect.Dialect | None) -> Finding:
    if spoken is None:
        return Finding(
            'dialect', finding.WRONG, 'none: the kernel has no real-time control '
            'groups', 'boot a kernel with HCBS or CONFIG_RT_GROUP_SCHED, or set '
            '[rt] hcbs_scheduler_available=false')
    return Finding('dialect', finding.OK, f'{spoken.name}: {spoken.guarantee}')


def _layout(machine: Machine) -> Iterator[Finding]:
    """Look at which version of control groups has the cpu controller."""
    tree = machine.tree
    if tree is None:
        yield Finding('cgroup layout', finding.WRONG, 'the cpu controller is mounted '
                      'nowhere', 'mount the control groups')
        return
    found = f'version {tree.version} at {tree.root}'
    beside = [line.split()[1] for line in _lines(tree.proc / 'self/mounts')
              if line.split()[2:3] == ['cgroup2']]
    if tree.version == 1 and beside:
        yield Finding(
            'cgroup layout', finding.WARNING,
            f'{found}, and version 2 beside it at {beside[0]}: libvirt 9 '
            'starts no container then',
            f'unmount {beside[0]}, or start libvirtd and nova-rt-compute in a '
            'mount namespace without it')
        return
    for group in machine.machine_groups:
        if tree.version == 2 and tree.exists(group) and not tree.has(
                group, 'cpu.weight'):
            yield Finding(
                'cgroup layout', finding.WRONG,
                f'{found}, but the cpu controller is off in /{group}',
                'give real-time tasks outside of the root group the normal '
                f'policy, and write +cpu to {tree.root}/cgroup.subtree_control')
            return
    yield Finding('cgroup layout', finding.OK, found)


def _sysctl(machine: Machine, spoken: dialect.Dialect) -> Iterator[Finding]:
    """Look at the global limit, and at what it and the kernel leave."""
    limit = dialect.global_limit(spoken.tree.proc)
    try:
        most = spoken.admitted()
    except dialect.UnenforcedError as why:
        yield finding.refused('sysctl', why)
        return
    found = (f'the global limit is {bandwidth.percent(limit)}, the kernel '
             f'admits {bandwidth.percent(most)} of a pCPU')
    if most < machine.cap:
        yield Finding(
            'sysctl', finding.WARNING,
            f'{found}, less than [rt] cap, {bandwidth.percent(machine.cap)}',
            'raise kernel.sched_rt_runtime_us, or lower the cap' + (
                ' or the fair server in /sys/kernel/debug/sched/fair_server'
                if spoken.counts_fair_server else ''))
    else:
        yield Finding('sysctl', finding.OK, found)


def _fair_server(machine: Machine,
                 spoken: dialect.Dialect) -> Iterator[Finding]:
    """Look at what the kernel keeps for normal tasks; HCBS alone counts it."""
    if not spoken.counts_fair_server:
        return
    held = bandwidth.percent(dialect.fair_server(machine.debugfs))
    if not (machine.debugfs / 'sched/fair_server').is_dir():
        yield Finding(
            'fair server', finding.WARNING,
            f'it cannot be seen, so {held} are taken to be held for normal '
            'tasks', f'mount -t debugfs none {machine.debugfs}')
    else:
        yield Finding('fair server', finding.OK, f'it holds {held} of each pCPU for '
                      'normal tasks')


def _cpus(machine: Machine) -> Iterator[Finding]:
    """Look for pCPUs that are offline."""
    off = machine.present - machine.online
    if off:
        names = ', '.join(map(str, sorted(off)))
        yield Finding(
            'pCPUs', finding.WARNING, f'{len(machine.online)} of '
            f'{len(machine.present)} are online; {names} can hold nothing',
            'write 1 to /sys/devices/system/cpu/cpuN/online, and restart '
            'nova-rt-compute')
    else:
        yield Finding('pCPUs', finding.OK, f'all {len(machine.present)} are online')


_CHECKS: tuple[Callable[[Machine, dialect.Dialect], Iterator[Finding]], ...] = (
    _sysctl, _fair_server, groups.root, groups.machine_groups,
    groups.waiting, groups.foreign)


def _lines(path: pathlib.Path) -> list[str]:
    return path.read_text().splitlines()


