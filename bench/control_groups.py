# SPDX-License-Identifier: Apache-2.0
"""Applying a reservation to real control groups, in a group of our own.

The groups are laid out as libvirt's: a process in a container's group, below
one group for all containers, next to other containers.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import itertools
import os
import subprocess
import sys
import time
from typing import Any

from bench import measure
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import fake_kernel
from nova_rt.virt import container_host
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import tree as cgroup_tree

TOP = 'nova-rt-bench'
GROUP = f'{TOP}/container'
NEIGHBOURS = 32
# Small, so that it fits beside the machine's other groups.
HOLDING = ledger.Holding(reservation.Reservation(2_000, 200_000, 1), (0,))


@dataclasses.dataclass(frozen=True)
class Applied:
    """Seconds of each application, and where it was applied."""

    seconds: list[float]
    where: str
    notes: dict[str, Any]


def apply(rounds: int) -> Applied:
    """Apply a reservation repeatedly, on a kernel without RT groups to a fake.

    :raises KernelRefusalError: if other groups leave the kernel no room
    """
    count = os.cpu_count() or 1
    spoken = reason = None
    try:
        spoken = detect.detect(cgroup_tree.CgroupTree.find(), count)
    except errors.CgroupError as exc:
        reason = str(exc)
    if spoken is None:
        return _on_fake(rounds, reason or 'this kernel has no real-time groups')
    with groups(spoken) as pid:
        return Applied(
            _applications(spoken, pid, rounds), f'{spoken.name} groups',
            {'pCPUs': count, 'containers beside': NEIGHBOURS})


def _on_fake(rounds: int, reason: str) -> Applied:
    kernel = fake_kernel.FakeKernel(64, multi=True)
    spoken = detect.detect(kernel, 64)
    assert spoken is not None  # noqa: S101
    for group in _names():
        kernel.start(1, group)
    kernel.start(1, GROUP)
    return Applied(_applications(spoken, 1, rounds), 'a fake kernel',
                   {'pCPUs': 64, 'why': reason})


def _applications(spoken: dialect.Dialect, pid: int,
                  rounds: int) -> list[float]:
    host = container_host.ContainerHost(spoken, shares.HostShares.empty(
        (spoken.admitted(),) * spoken.count, spoken.occupancy), (TOP,))

    return measure.in_turn(
        {'apply': lambda: host.apply(pid, HOLDING)}, rounds,
        clock=time.perf_counter,
        before={'apply': lambda: _take_back(spoken)})['apply']


def _take_back(spoken: dialect.Dialect) -> None:
    for group in (GROUP, TOP):
        spoken.write(group, dataclasses.replace(
            spoken.read(group), runtimes_us=(0,) * spoken.count))


@contextlib.contextmanager
def groups(spoken: dialect.Dialect) -> Iterator[int]:
    """Create the groups with a process in one of them; remove everything at the end."""
    tree = spoken.tree
    with contextlib.ExitStack() as made:
        for group in (TOP, *_names(), GROUP):
            tree.make(group)
            made.callback(_remove, spoken, group)
        process = subprocess.Popen((sys.executable, '-c', 'input()'),
                                   stdin=subprocess.PIPE)
        made.callback(process.wait)
        made.callback(process.kill)
        tree.write(GROUP, 'cgroup.procs', str(process.pid))
        yield process.pid


def _remove(spoken: dialect.Dialect, group: str) -> None:
    """Remove a group; the kernel releases its process with a delay."""
    for attempt in itertools.count():
        try:
            held = spoken.read(group)
            if any(held.runtimes_us):
                spoken.write(group, budget.Budget(
                    held.period_us, (0,) * spoken.count))
            spoken.tree.remove(group)
            return
        except (OSError, errors.KernelRefusalError):
            if attempt == 100:
                raise
            time.sleep(0.05)


def _names() -> list[str]:
    return [f'{TOP}/beside-{number}' for number in range(NEIGHBOURS)]
