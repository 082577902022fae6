# SPDX-License-Identifier: Apache-2.0
"""The part of the doctor that looks at groups, and at who is in them."""

from collections.abc import Iterator
import contextlib
import os
import pathlib

from nova_rt import bandwidth
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import tree as cgroup_tree
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.cgroup.doctor.finding import Finding
from nova_rt.virt.cgroup.doctor.finding import Machine
from nova_rt.virt.rt_init import program

_SCHED_DEADLINE = 6
_TRY = (1_000, 1_000_000)


def root(machine: Machine, spoken: dialect.Dialect) -> Iterator[Finding]:
    """Look whether a new group can get a budget, and who is in its way."""
    group = f'nova-rt-probe-{os.getpid()}'
    spoken.tree.make(group)
    try:
        spoken.write(group, budget.Budget(
            _TRY[1], (_TRY[0],) * spoken.count))
    except cgroup_tree.KernelRefusalError as why:
        held = spoken.read('').bandwidths
        if not any(held):
            yield Finding('ancestors', finding.WRONG, 'the root group is at 0, so no '
                          'group below it can have a budget',
                          f'write a budget to its {spoken.files[0]}')
        else:
            yield finding.refused('ancestors', why)
    else:
        yield Finding('ancestors', finding.OK,
                      'a group below the root can have a budget')
    finally:
        with contextlib.suppress(cgroup_tree.KernelRefusalError):
            spoken.tree.remove(group)


def machine_groups(machine: Machine,
                    spoken: dialect.Dialect) -> Iterator[Finding]:
    """Look whether containers lack a budget above, or left one behind."""
    for group in filter(spoken.tree.exists, machine.machine_groups):
        have = spoken.read(group).bandwidths
        needed = _below(spoken, group)
        if not any(have) and spoken.bounded(group):
            yield Finding('ancestors', finding.OK, f'/{group} is at 0, as none of its '
                          'containers has a reservation')
        # A parent's runtime is rounded up to a whole µs of its period.
        elif any(h > n + 2 for h, n in zip(have, needed, strict=True)):
            yield Finding(
                'ancestors', finding.WARNING,
                f'/{group} holds {_shown(have)}, its containers only '
                f'{_shown(needed)}',
                'see that nova-rt-compute runs: it takes back the rest with '
                'its periodic update')


def waiting(machine: Machine, spoken: dialect.Dialect) -> Iterator[Finding]:
    """Look for containers that wait until the groups above have a budget."""
    for process in spoken.tree.proc.glob('[0-9]*'):
        with contextlib.suppress(OSError, cgroup_tree.MissingControlFileError):
            if (process / 'comm').read_text().strip() != program.COMM:
                continue
            group = spoken.tree.group_of(int(process.name))
            empty = [each for each in (group, *hierarchy.ancestors(group))
                     if spoken.bounded(each)
                     and not any(spoken.read(each).runtimes_us)]
            if empty:
                yield Finding(
                    'ancestors', finding.WRONG,
                    f'the container in /{group} waits for its reservation, as '
                    f'/{empty[-1]} is at 0',
                    'see that nova-rt-compute runs, and look into its log')


def foreign(machine: Machine, spoken: dialect.Dialect) -> Iterator[Finding]:
    """Look for budgets of groups that are not of containers, and for tasks."""
    for group in spoken.tree.children(''):
        if group in machine.machine_groups:
            continue
        held = (spoken.read(group).bandwidths if spoken.bounded(group)
                else _below(spoken, group))
        if any(held):
            yield Finding(
                'foreign budget', finding.WARNING,
                f'/{group} holds {_shown(held)}, which containers lack',
                f'write 0 to its {spoken.files[0]}, or lower [rt] cap by as '
                'much')
    tasks = sum(map(_is_deadline, _tasks(spoken.tree.proc)))
    if tasks and spoken.counts_fair_server:
        yield Finding(
            'foreign budget', finding.WARNING,
            f'{tasks} task(s) are under SCHED_DEADLINE, which shares the '
            'bandwidth with containers', 'lower [rt] cap by what they have')


def _below(spoken: dialect.Dialect, group: str) -> tuple[int, ...]:
    """Return what the groups below a group hold, by pCPU."""
    total = [0] * spoken.count
    for child in hierarchy.bounded_below(spoken, group):
        with contextlib.suppress(cgroup_tree.MissingControlFileError):
            total = [t + h for t, h in zip(
                total, spoken.read(child).bandwidths, strict=True)]
    return tuple(total)


def _shown(held: tuple[int, ...]) -> str:
    """Return bandwidths by pCPU as people read them."""
    if len(set(held)) == 1:
        return f'{bandwidth.percent(held[0])} of every pCPU'
    return ', '.join(f'{bandwidth.percent(each)} of pCPU {cpu}'
                     for cpu, each in enumerate(held) if each)


def _tasks(proc: pathlib.Path) -> Iterator[int]:
    """Yield the tasks of user space."""
    for process in proc.glob('[0-9]*'):
        with contextlib.suppress(OSError):
            # The kernel's own have no command line, and no real bandwidth.
            if (process / 'cmdline').read_bytes():
                yield from (int(each.name)
                            for each in (process / 'task').iterdir())


def _is_deadline(task: int) -> bool:
    try:
        return os.sched_getscheduler(task) == _SCHED_DEADLINE
    except OSError:
        return False
