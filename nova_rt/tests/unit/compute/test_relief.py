# SPDX-License-Identifier: Apache-2.0
"""Moves for servers that miss deadlines are made one after the other."""

import itertools
import queue
import threading
import time

from nova import exception
import pytest

from nova_rt.compute import relief
from nova_rt.testing import retries

PATIENCE_S = 30

pytestmark = retries.ONCE


class Host:
    """Stands in for the resource tracker."""

    def __init__(self):
        self.asked, self.moved = [], queue.Queue()
        self.answers = {}
        self.free = threading.Event()
        self.free.set()

    def move(self, server):
        self.asked.append(server)
        assert self.free.wait(PATIENCE_S)
        answer = self.answers.get(server, True)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def host():
    return Host()


@pytest.fixture
def moves(host):
    made = relief.Relief(host.move, host.moved.put)
    yield made
    host.free.set()
    made.end()


def test_who_is_moved_is_told(host, moves):
    moves.ask('a')
    assert host.moved.get(timeout=PATIENCE_S) == 'a'


def test_one_that_cannot_be_moved_keeps_no_other(host, moves):
    host.answers = {
        'stays': False, 'gone': exception.InstanceNotFound(instance_id='gone'),
        'busy': exception.MigrationError(reason='another operation is under way'),
        'fault': RuntimeError('the database is away')}
    for server in (*host.answers, 'b'):
        moves.ask(server)
    assert host.moved.get(timeout=PATIENCE_S) == 'b'
    assert host.asked == ['stays', 'gone', 'busy', 'fault', 'b']
    assert host.moved.empty()


def test_where_no_move_helps_another_is_stopped(host):
    evicted = queue.Queue()
    refused = exception.MigrationError(reason='the kernel refuses')
    host.answers = {
        'stays': False, 'refused': refused, 'fault': RuntimeError('libvirt is away'),
        'gone': exception.InstanceNotFound(instance_id='gone'), 'last': False}

    def evict(server, asked_s):
        assert asked_s <= time.monotonic()
        evicted.put(server)
        return True
    made = relief.Relief(host.move, host.moved.put, evict)
    made.ask('moves')
    for server in host.answers:
        made.ask(server)
    stopped_for = ['stays', 'refused', 'fault', 'last']
    assert [evicted.get(timeout=PATIENCE_S) for _ in stopped_for] == stopped_for
    made.end()
    assert host.asked == ['moves', *host.answers]


def test_whoever_asks_never_waits(host, moves):
    host.free.clear()
    for number in range(1000):
        moves.ask(str(number))
    assert len(host.asked) <= 1


def test_at_the_end_only_what_is_under_way_is_done(host, moves):
    host.free.clear()
    for server in 'abc':
        moves.ask(server)
    end = time.monotonic() + PATIENCE_S
    while not host.asked:
        assert time.monotonic() < end
        time.sleep(0.01)
    ending = threading.Thread(target=moves.end)
    ending.start()
    time.sleep(0.1)
    host.free.set()
    ending.join(PATIENCE_S)
    assert not ending.is_alive()
    assert host.asked == ['a']


def test_the_host_is_left_to_others_most_of_the_time(host):
    times = []

    def move(server):
        times.append(time.monotonic())
        time.sleep(0.1)
        return False
    made = relief.Relief(move, host.moved.put)
    for server in 'abc':
        made.ask(server)
    time.sleep(2.5)
    made.end()
    assert 2 <= len(times) <= 3
    assert all(later - earlier >= 1.0 for earlier, later in itertools.pairwise(times))
