# SPDX-License-Identifier: Apache-2.0
"""Time, threads and misses of a service that only go on when a test lets them.

So a sequence of reactions is the same each time, and nobody waits.
"""

import importlib
import os
import select
import threading
import time
import types

import fixtures

from nova_rt import kinds
from nova_rt.compute import relief
from nova_rt.monitor import activity
from nova_rt.monitor import record
from nova_rt.monitor import watcher
from nova_rt.reaction import ears
from nova_rt.reaction import reactor
from nova_rt.reaction import records

# Those that ask what time it is, or wait, for loans, shrinks, moves and evictions.
_TIMED = (
    'closing', 'compute.backoff', 'compute.evictions', 'compute.relief',
    'compute.resource_tracker', 'compute.vcpu_moves', 'reaction.reactor',
    'reaction.shrink_news', 'testing.zero_lag_kernel', 'virt.cgroup.hierarchy',
    'virt.giving_way', 'virt.lending', 'virt.loans', 'virt.returning', 'virt.settling')


class Clock(fixtures.Fixture):
    """A clock by which who waits has waited, and on which each look takes a µs.

    So no time that is waited for is missed by the rounding of a sum.
    """

    strftime = staticmethod(time.strftime)
    gmtime = staticmethod(time.gmtime)

    def _setUp(self):
        self._began_s = time.monotonic()
        self._passed_s = 0.0
        self._wall_s = time.time()
        for name in _TIMED:
            self.useFixture(fixtures.MockPatchObject(
                importlib.import_module(f'nova_rt.{name}'), 'time', self))

    def monotonic(self):
        self._passed_s += 1e-6
        return self._began_s + self._passed_s

    def time(self):
        return self._wall_s + self._passed_s

    def sleep(self, seconds):
        self._passed_s += max(0.0, seconds)


class Watcher:
    """Hears of the misses that a test tells it of."""

    def __init__(self):
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._servers = set()
        self._news = []

    def fileno(self):
        return self._wake

    def add(self, server, *args):
        self._servers.add(server)
        return True

    def hears(self, server):
        return server in self._servers

    def remove(self, server):
        self._servers.discard(server)

    def miss(self, server, times, heard_s):
        """Have a server miss deadlines.

        :param heard_s: when that is heard, by CLOCK_MONOTONIC
        """
        if server in self._servers:
            nothing = record.Record('control', *[0] * (len(record.Record._fields) - 1))
            self._news.append(activity.News(
                server, nothing, times, 0, times, 0, int(heard_s * 1e9), None))
            os.eventfd_write(self._wake, 1)

    def look(self):
        os.eventfd_read(self._wake)
        news, self._news = self._news, []
        return news

    def close(self):
        os.close(self._wake)


class _Thread:
    """Does its work when it is waited for, as whoever waits."""

    def __init__(self, target, **kwargs):
        self._target = target

    def start(self):
        pass

    def join(self, timeout=None):
        self._target()


class Reactions(fixtures.Fixture):
    """Has the threads that react to misses go on when :func:`go_on` lets them."""

    def _setUp(self):
        by_hand = types.SimpleNamespace(
            Thread=_Thread, Event=threading.Event, Lock=threading.Lock)
        for module in (reactor, relief, records):
            self.useFixture(fixtures.MockPatchObject(module, 'threading', by_hand))
        self.useFixture(fixtures.MockPatchObject(watcher, 'Watcher', Watcher))
        self.useFixture(fixtures.MockPatchObject(ears, 'LISTEN', {
            kinds.Kind.CONTAINER: Watcher.add}))
        # Nobody else waits here.
        self.useFixture(fixtures.MockPatchObject(relief, '_REST', 0))


def miss(reactions, server, times, heard_s):
    """Have a server miss deadlines, which the service hears of when it goes on."""
    reactions._reactor._watcher.miss(server, times, heard_s)


def go_on(reactions):
    """Let the threads of a service do all that is due: help, make room, and tell."""
    react = reactions._reactor
    poll = select.poll()
    poll.register(react._watcher.fileno(), select.POLLIN)
    poll.register(react._wake, select.POLLIN)
    # By the second, it has heard what the first was woken for.
    for _ in range(2):
        react._turn(types.SimpleNamespace(poll=lambda wait_ms: poll.poll(0)))
    reactions._relief._waiting.put(None)
    reactions._relief._run()
    reactions._records._waiting.put(None)
    reactions._records._write()


def die(reactions):
    """Give back to the kernel what threads that have been killed held of it."""
    reactions._reactor._watcher.close()
    os.close(reactions._reactor._wake)
