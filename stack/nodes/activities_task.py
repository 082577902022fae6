#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Containers with periodic activities, and the reaction to their misses, as JSON.

``settings.json`` says which containers, what their activities do, and what is done about
their misses. Noted are their jobs, what the reactor hears, and each budget that it writes.
``activity``, ``bare.py`` and ``evicting.py`` lie beside this program in the node's folder. The
last line printed begins with RESULT.
"""

from collections.abc import Callable
from collections.abc import Mapping
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import threading
import time
from typing import Any
from unittest import mock

from bare import Bare  # type: ignore[import-not-found]  # beside it on the node
from evicting import Evicting  # type: ignore[import-not-found]  # beside it on the node
import look  # type: ignore[import-not-found]  # beside it on the node

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from nova_rt.monitor import activity
from nova_rt.reaction import loan_policy
from nova_rt.reaction import reactor
from nova_rt.reaction import threshold
from nova_rt.virt import containers
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import tree

HERE = pathlib.Path('/srv/node')
RC = """#!/bin/sh
mount -t tmpfs tmpfs /run/nova-rt
exec {}
"""
# A container whose activity is not given never sleeps, and tells nothing.
HOG = '/bin/hog fifo 10'
# The group of a reactor with a reservation of its own.
OWN = 'reactor'
_DOMAIN = re.compile(r'instance-[0-9a-f]{8}')
_LOGGED = struct.Struct('=qq')
# Of the kernel's files, those with budgets.
BUDGETS = ('cpu.rt_multi_runtime_us', 'cpu.rt_runtime_us', 'cpu.rt_period_us')


def main() -> None:
    """Start everything, wait, and print what became of it."""
    settings = json.loads((HERE / 'settings.json').read_text())
    noted = Noted()
    if settings.get('without_fair_server'):
        without_fair_server()
    node = Bare(settings.get('cap'))
    names = [start(node, each) for each in settings['containers']]
    # The host's, and normal tasks.
    stresses = [subprocess.Popen((HERE / 'activity', 'stress'))
                for _ in range(settings.get('stresses', 0))]
    evicting = Evicting(node, settings)
    reacts = begin(node, settings['policy'], evicting, noted) if settings['policy'] else None
    time.sleep(settings['seconds'])
    ended_ns = time.monotonic_ns()
    logs = {name: log_of(node, name, each['activity'][0])
            for name, each in zip(names, settings['containers'], strict=True)
            if 'activity' in each and name not in evicting.stopped}
    if reacts is not None:
        reacts.stop()
    for each in stresses:
        each.kill()
    print('\nRESULT', json.dumps({
        'names': names, 'jobs': logs, 'heard': noted.heard, 'writes': noted.writes,
        'told': noted.told, 'evictions': evicting.done, 'ended_ns': ended_ns,
        'pcpus': [each.pcpus for each in node.holdings],
    }), flush=True)


class Noted:
    """What the reactor heard and did; times in ns of CLOCK_MONOTONIC.

    :ivar heard: of whom, and when: the report, when it was read, and how many were late
    :ivar writes: to whose budget, when it began and ended, which file, and what
    :ivar told: whom, and what
    """

    def __init__(self) -> None:
        self.heard: list[tuple[str, int, int, int]] = []
        self.writes: list[tuple[str, int, int, str, str]] = []
        self.told: list[tuple[int, str, str]] = []
        self._write = tree.CgroupTree.write
        self._hear = reactor.Reactor._hear
        mock.patch.object(tree.CgroupTree, 'write', self._noting()).start()
        mock.patch.object(reactor.Reactor, '_hear', self._hearing()).start()

    def _noting(self) -> Callable[[tree.CgroupTree, str, str, str], None]:
        def noting(groups: tree.CgroupTree, group: str, name: str, text: str) -> None:
            began_ns = time.monotonic_ns()
            self._write(groups, group, name, text)
            if name in BUDGETS and (found := _DOMAIN.search(group.replace('\\x2d', '-'))):
                self.writes.append((found[0], began_ns, time.monotonic_ns(), name, text))
        return noting

    def _hearing(self) -> Callable[[reactor.Reactor, activity.News], None]:
        def hearing(hears: reactor.Reactor, news: activity.News) -> None:
            self.heard.append((
                news.server, news.record.reported_ns, news.heard_ns, news.late))
            self._hear(hears, news)
        return hearing

    def tell(self, server: str, sentence: str) -> None:
        """Note what a user is told."""
        self.told.append((time.monotonic_ns(), server, sentence))


def without_fair_server() -> None:
    """Let reservations have the 5% that the kernel keeps for normal tasks otherwise."""
    for path in pathlib.Path('/sys/kernel/debug/sched/fair_server').glob('cpu*/runtime'):
        path.write_text('0')


def start(node: Bare, asked: Mapping[str, Any]) -> str:
    """Start a container with its activity; return its name."""
    def change(root: pathlib.Path) -> None:
        shutil.copy(HERE / 'activity', root / 'bin' / 'activity')
        (root / 'run' / 'nova-rt').mkdir()
        (root / 'etc' / 'rc').write_text(RC.format(
            ' '.join(map(str, ('/bin/activity', *asked['activity'])))
            if 'activity' in asked else HOG))

    rank = asked.get('rank')
    node.start(
        reservation.Reservation(asked['runtime_us'], asked['period_us'], 1), change=change,
        terms=elastic.Terms(rank and criticality.Criticality[rank], asked.get('least_us')))
    name: str = list(node.running())[-1]
    return name


def begin(node: Bare, policy: Mapping[str, Any], evicting: Evicting,
          noted: Noted) -> reactor.Reactor:
    """Begin to hear of misses and to react."""
    begun = reactor.Reactor(
        node.kernel, lambda: {
            name: one for name, one in node.running().items() if name not in evicting.stopped},
        loan_policy.LoanPolicy(
            threshold.Threshold(policy['after'], policy['window_s']),
            bandwidth.fraction_to_bandwidth(policy['most']), policy['for_s'],
            policy['shrinks']),
        noted.tell, noted.tell, quiet_s=policy.get('quiet_s', reactor.QUIET_S),
        relieve=evicting.ask if policy.get('evict') else reactor.stays)
    evicting.has_room = begun.has_room
    begun.start()
    if 'reactor_us' in policy:
        reserve(*policy['reactor_us'])
    return begun


def reserve(runtime_us: int, period_us: int) -> None:
    """Give the reactor a reservation of its own, on the first pCPU."""
    spoken, _ = look.groups()
    spoken.tree.make(OWN)
    spoken.write(OWN, budget.Budget(period_us, (runtime_us, *[0] * (spoken.count - 1))))
    spoken.tree.write(OWN, 'cgroup.procs', str(os.getpid()))
    thread, = (each for each in threading.enumerate() if each.name == 'nova-rt reactor')
    os.sched_setscheduler(thread.native_id or 0, os.SCHED_FIFO, os.sched_param(1))


def log_of(node: Bare, name: str, of: str) -> list[tuple[int, int]]:
    """Return the jobs of a container's activity: release and end, 0 if skipped."""
    init = containers.first_process(node.running()[name].pid)
    data = pathlib.Path(f'/proc/{init}/root/run/nova-rt/{of}.log').read_bytes()
    return [pair for pair in _LOGGED.iter_unpack(data[:len(data) - len(data) % 16]) if pair[0]]


if __name__ == '__main__':
    main()
    os.sync()
