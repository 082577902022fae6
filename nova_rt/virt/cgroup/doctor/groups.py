# SPDX-License-Identifier: Apache-2.0
"""The doctor's checks of groups, and of the tasks that are in them."""

from collections.abc import Iterator
import contextlib
import os
import pathlib

from nova_rt import bandwidth
from nova_rt.virt import procfs
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup.dialect import Dialect
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.cgroup.doctor.finding import Finding
from nova_rt.virt.cgroup.doctor.machine import Machine
from nova_rt.virt.rt_init import program

_SCHED_DEADLINE = 6
# A thousandth of each pCPU.
_PROBE_RUNTIME_US, _PROBE_PERIOD_US = 1_000, 1_000_000


def root(machine: Machine, dialect: Dialect) -> Iterator[Finding]:
    """Check that a new group can get a budget, or what is in its way."""
    group = detect.probe_group()
    dialect.tree.make(group)
    try:
        dialect.write(group, budget.Budget(
            _PROBE_PERIOD_US, (_PROBE_RUNTIME_US,) * dialect.count))
    except errors.KernelRefusalError as exc:
        if any(dialect.read('').bandwidths):
            yield finding.from_error('ancestors', exc)
        else:
            yield finding.wrong(
                'ancestors', 'the root group is at 0, so no group below it can '
                'have a budget', f'write a budget to its {dialect.files[0]}')
    else:
        yield finding.good('ancestors', 'a group below the root can have a budget')
    finally:
        with contextlib.suppress(errors.KernelRefusalError):
            dialect.tree.remove(group)


def machine_groups(machine: Machine, dialect: Dialect) -> Iterator[Finding]:
    """Check that the groups above containers hold what these need, no more."""
    for group in filter(dialect.tree.exists, machine.machine_groups):
        own = dialect.read(group)
        held = own.bandwidths
        needed = dialect.covering(_below(dialect, group), own).bandwidths
        if not any(held) and dialect.bounded(group):
            yield finding.good('ancestors', f'/{group} is at 0, as none of its '
                               'containers has a reservation')
        elif any(has > needs for has, needs in zip(held, needed, strict=True)):
            yield finding.warning(
                'ancestors', f'/{group} holds {_by_pcpu(held)}, its containers only '
                f'{_by_pcpu(needed)}',
                'see that nova-rt-compute runs: it takes back the rest with '
                'its periodic update')


def waiting(machine: Machine, dialect: Dialect) -> Iterator[Finding]:
    """Check that no container waits because a group above has no budget."""
    for process in dialect.tree.proc.glob('[0-9]*'):
        with contextlib.suppress(OSError, errors.MissingControlFileError):
            if procfs.text(process, 'comm').strip() != program.COMM:
                continue
            group = dialect.tree.group_of(int(process.name))
            empty = [level for level in (group, *hierarchy.ancestors(group))
                     if dialect.bounded(level)
                     and not any(dialect.read(level).runtimes_us)]
            if empty:
                yield finding.wrong(
                    'ancestors',
                    f'the container in /{group} waits for its reservation, as '
                    f'/{empty[-1]} is at 0',
                    'see that nova-rt-compute runs, and look into its log')


def foreign(machine: Machine, dialect: Dialect) -> Iterator[Finding]:
    """Check for budgets that no container holds, and for deadline tasks."""
    for group in dialect.tree.children(''):
        if group in machine.machine_groups:
            continue
        held = (dialect.read(group).bandwidths if dialect.bounded(group)
                else _below(dialect, group))
        if any(held):
            yield finding.warning(
                'foreign budget',
                f'/{group} holds {_by_pcpu(held)}, which containers lack',
                f'write 0 to its {dialect.files[0]}, or lower [rt] cap by as '
                'much')
    tasks = sum(map(_is_deadline, _tasks(dialect.tree.proc)))
    if tasks and dialect.counts_kernel_servers:
        yield finding.warning(
            'foreign budget',
            f'{tasks} task(s) are under SCHED_DEADLINE, which shares the '
            'bandwidth with containers', 'lower [rt] cap by what they have')


def _below(dialect: Dialect, group: str) -> tuple[int, ...]:
    """Return what the groups below a group hold, by pCPU."""
    total = [0] * dialect.count
    for child in hierarchy.bounded_below(dialect, group):
        with contextlib.suppress(errors.MissingControlFileError):
            total = [before + held for before, held in zip(
                total, dialect.read(child).bandwidths, strict=True)]
    return tuple(total)


def _by_pcpu(held: tuple[int, ...]) -> str:
    """Return bandwidths by pCPU as people read them."""
    if len(set(held)) == 1:
        return f'{bandwidth.percent(held[0])} of every pCPU'
    return ', '.join(f'{bandwidth.percent(share)} of pCPU {pcpu}'
                     for pcpu, share in enumerate(held) if share)


def _tasks(proc: pathlib.Path) -> Iterator[int]:
    """Yield the tasks of user space."""
    for process in proc.glob('[0-9]*'):
        with contextlib.suppress(OSError):
            # The kernel's own have no command line, and no real bandwidth.
            if (process / 'cmdline').read_bytes():
                yield from (int(task.name)
                            for task in (process / 'task').iterdir())


def _is_deadline(task: int) -> bool:
    try:
        return os.sched_getscheduler(task) == _SCHED_DEADLINE
    except OSError:
        return False
