# SPDX-License-Identifier: Apache-2.0
"""Opens and examines this machine, by its options and its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt import wording
from nova_rt.virt import container_groups
from nova_rt.virt import container_host
from nova_rt.virt import cpus
from nova_rt.virt import host
from nova_rt.virt import kinds
from nova_rt.virt import machine_host
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import tree
from nova_rt.virt.cgroup.dialect import Dialect
from nova_rt.virt.cgroup.doctor import examination
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.cgroup.doctor import machine
from nova_rt.virt.deadline import admission
from nova_rt.virt.deadline import errors as deadline_errors
from nova_rt.virt.deadline import findings as deadline_findings
from nova_rt.virt.deadline import scheduler

if TYPE_CHECKING:
    import libvirt

LOG = logging.getLogger(__name__)


def from_options(conf: cfg.ConfigOpts,
                 connect: Callable[[], libvirt.virConnect] | None = None) -> host.Host:
    """Return this machine, ready to hold reservations if it is to.

    :param conf: with group ``[rt]`` registered
    :param connect: returns a connection to the libvirt of virtual machines; a new one
        by default
    :raises UnavailableError: if reservations are to be offered but cannot be
    """
    count = 1 + max(cpus.present())
    if not conf.rt.hcbs_scheduler_available:
        LOG.info('Reservations are turned off by '
                 '[rt] hcbs_scheduler_available.')
        return container_host.ContainerHost(None, shares.HostShares.empty((0,) * count))
    usable = _usable_pcpus(conf.rt.cpu_set, cpus.online())
    if kinds.of(conf) is kinds.Kind.MACHINE:
        return _for_machines(conf, usable, count, connect)
    dialect, admitted = _detect(count, conf.rt.dialect)
    capacity = min(bandwidth.fraction_to_bandwidth(conf.rt.cap), admitted)
    LOG.info('Dialect %s, up to %s of each of the pCPUs %s; %s.',
             dialect.name, bandwidth.percent(capacity), sorted(usable),
             dialect.guarantee)
    return container_host.ContainerHost(dialect, shares.HostShares.empty(
        [capacity if pcpu in usable else 0 for pcpu in range(dialect.count)],
        dialect.occupancy), cpusets=tree.CgroupTree.find(controller='cpuset'))


def examine(conf: cfg.ConfigOpts) -> list[finding.Finding]:
    """Return what keeps this machine from holding reservations.

    :param conf: with group ``[rt]`` registered
    """
    online = cpus.online()
    usable = online
    wrong: list[finding.Finding] = []
    try:
        usable = _usable_pcpus(conf.rt.cpu_set, online)
    except host.UnavailableError as exc:
        wrong.append(finding.from_error('options', exc))
    if kinds.of(conf) is kinds.Kind.MACHINE:
        findings = _examine_for_machines(conf, usable)
    else:
        findings = examination.examine(machine.Machine(
            tree.CgroupTree.find(), cpus.present(), online,
            bandwidth.fraction_to_bandwidth(conf.rt.cap),
            container_groups.MACHINE_GROUPS, wanted=conf.rt.dialect))
    findings += wrong
    if not conf.rt.hcbs_scheduler_available:
        findings.append(finding.warning(
            'options', 'this host offers no reservations',
            'set [rt] hcbs_scheduler_available=true'))
    return findings


def _for_machines(conf: cfg.ConfigOpts, usable: frozenset[int], count: int,
                  connect: Callable[[], libvirt.virConnect] | None) -> host.Host:
    """Return this machine, ready to hold the reservations of virtual machines.

    :raises UnavailableError: if its kernel does not admit them
    """
    # Not at the top: a host for containers needs only libvirt's other driver.
    from nova_rt.virt import machines

    try:
        kernel = scheduler.Scheduler()
        detected = admission.detect(kernel, usable)
    except deadline_errors.DeadlineError as exc:
        raise host.UnavailableError(str(exc)) from None
    capacity = min(bandwidth.fraction_to_bandwidth(conf.rt.cap),
                   detected.admitted(kernel))
    if capacity <= 0:
        raise host.UnavailableError(
            'The kernel admits no reservation beside its fair server '
            '(kernel.sched_rt_runtime_us): set it to -1 or 950000.')
    LOG.info('Dialect %s, up to %s of each of the pCPUs %s, admitted by the %s; %s.',
             machine_host.DIALECT, bandwidth.percent(capacity), sorted(usable),
             detected.value, deadline_findings.GUARANTEE)
    running = machines.Machines(connect or (lambda: machines.connect(kinds.uri(conf))))
    return machine_host.MachineHost(kernel, shares.HostShares.empty(
        [capacity if pcpu in usable else 0 for pcpu in range(count)]),
        running.threads_of, running.pin, tree.CgroupTree.find(controller='cpuset'))


def _examine_for_machines(conf: cfg.ConfigOpts,
                          usable: frozenset[int]) -> list[finding.Finding]:
    """Return what keeps this machine from holding those of virtual machines."""
    try:
        kernel = scheduler.Scheduler()
    except deadline_errors.UnsupportedError as exc:
        return [finding.from_error('dialect', exc)]
    return [*deadline_findings.examine(
                kernel, usable, bandwidth.fraction_to_bandwidth(conf.rt.cap)),
            examination.pcpus(cpus.present(), cpus.online())]


def _detect(count: int, wanted: str | None) -> tuple[Dialect, int]:
    """Return the kernel's dialect, and the bandwidth that it admits on a pCPU.

    :param wanted: the name of the only dialect that will do
    :raises UnavailableError: if there is none
    """
    try:
        dialect = detect.detect(tree.CgroupTree.find(), count, wanted)
        admitted = dialect.admitted() if dialect else 0
    except errors.CgroupError as exc:
        raise host.UnavailableError(str(exc)) from None
    if dialect is None:
        raise host.UnavailableError(
            'The kernel has no real-time control groups (no '
            'cpu.rt_runtime_us in the groups of the cpu controller): '
            'boot a kernel with HCBS or RT_GROUP_SCHED, or set '
            '[rt] hcbs_scheduler_available=false.')
    if admitted <= 0:
        raise host.UnavailableError(
            'The kernel admits no reservation beside its fair server '
            '(kernel.sched_rt_runtime_us): set it to 950000.')
    return dialect, admitted


def _usable_pcpus(cpu_set: str | None, online: frozenset[int]) -> frozenset[int]:
    """Return the pCPUs that may hold reservations.

    :raises UnavailableError: if the option makes no sense on this machine
    """
    if not cpu_set:
        return online
    chosen = _parse(cpu_set)
    if not chosen:
        raise host.UnavailableError(
            f'[rt] cpu_set is {wording.shown(cpu_set)}: write numbers, ranges and '
            'what to leave out of them, for example 2-7,^4,10.')
    if not chosen <= online:
        missing = ', '.join(map(str, sorted(chosen - online)))
        raise host.UnavailableError(
            f'[rt] cpu_set names pCPU(s) {wording.shortened(missing)}, which are not '
            'online: bring them up or leave them out.')
    return chosen


def _parse(cpu_set: str) -> frozenset[int]:
    """Return the pCPUs that an option names, none if it is not valid."""
    # Not at the top: Nova takes seconds to load, and most hosts set no option.
    from nova import exception
    from nova.virt import hardware

    try:
        return frozenset(hardware.parse_cpu_spec(cpu_set))
    except exception.Invalid:
        return frozenset()
