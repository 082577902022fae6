# SPDX-License-Identifier: Apache-2.0
"""The reactor hears real processes; the kernel's budgets are a stand-in's."""

import time

from nova_rt import errors
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.reaction import ears
from nova_rt.reaction import reactor as reactors
from nova_rt.testing import jobs
from nova_rt.testing import retries
from nova_rt.tests.unit.reaction.nodes import DB
from nova_rt.tests.unit.reaction.nodes import HELD
from nova_rt.tests.unit.reaction.nodes import WEB
from nova_rt.virt import containers

pytestmark = retries.ONCE


def test_who_misses_too_often_is_lent_what_is_free(node):
    job = node.run(WEB, 7)
    node.begin()
    node.watched(WEB)
    job.miss()
    time.sleep(0.1)
    assert node.has(7) == 30
    job.miss()
    assert node.sentences(1) == [
        'It missed 2 deadlines or more within 60 s: up to 50% of a CPU is lent to each vCPU, '
        'until 600 s have passed without that.']
    assert node.has(7) == 80


def test_it_is_given_back_after_its_time(node):
    job = node.run(WEB, 7)
    node.begin(after=1, for_s=0.3)
    node.watched(WEB)
    job.miss()
    assert node.sentences(2)[1] == 'What was lent to it has been given back.'
    assert node.has(7) == 30


def test_who_goes_on_missing_keeps_it(node):
    job = node.run(WEB, 7)
    node.begin(after=1, for_s=2.0)
    node.watched(WEB)
    end = time.monotonic() + 3
    job.miss()
    node.sentences(1)
    while time.monotonic() < end:
        job.miss()
        time.sleep(0.02)
        assert node.has(7) == 80
    assert len(node.told) == 1
    assert node.sentences(2)[1] == 'What was lent to it has been given back.'


def test_one_that_starts_takes_what_it_needs_and_that_is_told(node):
    job = node.run(WEB, 7)
    node.begin(after=1, for_s=5.0)
    node.watched(WEB)
    job.miss()
    node.sentences(1)
    node.run(DB, 8, ledger.Holding(reservation.Reservation(60_000, 100_000, 1), (0,)))
    assert (node.has(7), node.has(8)) == (30, 60)
    assert node.sentences(2)[1] == 'What was lent to it was taken back earlier.'
    job.miss()
    assert node.sentences(3)[2] == (
        'It missed 1 deadline or more within 60 s, but nothing is free on its pCPUs.')


def test_where_nothing_is_free_that_is_told_once_in_a_while(node):
    job = node.run(WEB, 7)
    node.run(DB, 8, ledger.Holding(reservation.Reservation(60_000, 100_000, 1), (0,)))
    node.begin(after=1, for_s=0.1, quiet_s=600.0)
    node.watched(WEB, DB)
    for _ in range(50):
        job.miss()
        time.sleep(0.01)
    assert node.sentences(1) == [
        'It missed 1 deadline or more within 60 s, but nothing is free on its pCPUs.']


def test_loans_in_bursts_are_told_once_in_a_while(node):
    job = node.run(WEB, 7)
    node.begin(after=1, for_s=1.0, quiet_s=600.0)
    node.watched(WEB)
    for _ in range(2):
        job.miss()
        node.eventually(lambda: node.has(7) == 80)
        node.eventually(lambda: node.has(7) == 30)
        # Until a period has passed, it is nobody's.
        time.sleep(0.2)
    assert [sentence.partition(':')[0] for sentence in node.sentences(2)] == [
        'It missed 1 deadline or more within 60 s', 'What was lent to it has been given back.']


def test_a_kernel_that_refuses_is_not_asked_at_each_miss(node, monkeypatch):
    asked = []

    def lend(*args):
        asked.append(args)
        raise errors.NovaRTError('The kernel refuses.')
    monkeypatch.setattr(node.host, 'lend', lend)
    job = node.run(WEB, 7)
    node.begin(after=1)
    node.watched(WEB)
    for _ in range(20):
        job.miss()
        time.sleep(0.01)
    assert len(asked) == 1


def test_it_goes_on_after_something_unexpected(node, monkeypatch):
    monkeypatch.setattr(reactors, '_PAUSE_S', 0.01)
    job = node.run(WEB, 7)
    node.begin(after=1)
    node.watched(WEB)
    as_usual = node.host.lend
    faults = [RuntimeError, OSError]

    def lend(*args):
        if faults:
            raise faults.pop()
        return as_usual(*args)
    monkeypatch.setattr(node.host, 'lend', lend)
    for _ in range(3):
        job.miss()
        time.sleep(0.1)
        node.reactor._helped.clear()
    node.eventually(lambda: node.has(7) == 80)


def test_starts_after_the_end_wake_nobody(node):
    node.run(WEB, 7)
    node.begin()
    node.reactor.stop()
    node.reactor.look_again()
    node.reactor = None


def test_stopping_gives_all_back(node):
    job = node.run(WEB, 7)
    node.begin(after=1)
    node.watched(WEB)
    job.miss()
    node.sentences(1)
    node.reactor.stop()
    node.reactor = None
    assert node.has(7) == 30


def test_by_default_it_is_heard_and_nothing_is_lent(node):
    job = node.run(WEB, 7)
    node.begin(after=0)
    node.watched(WEB)
    for _ in range(5):
        job.miss()
    time.sleep(0.1)
    assert node.told == []
    assert node.has(7) == 30


def test_a_container_that_starts_again_is_heard_as_the_new_one(node):
    node.run(WEB, 7)
    node.begin(after=1)
    node.watched(WEB)
    node.kernel.stop(7)
    job = node.run(WEB, 9)
    node.watched(WEB)
    node.eventually(lambda: node.reactor._known[WEB] == 9)
    job.miss()
    node.sentences(1)
    assert node.has(9) == 80


def test_what_ended_with_a_loan_is_no_trouble(node):
    job = node.run(WEB, 7)
    node.begin(after=1)
    node.watched(WEB)
    job.miss()
    node.sentences(1)
    node.kernel.stop(7)
    del node.runs[WEB]
    node.watched()
    node.reactor.stop()
    node.reactor = None
    assert len(node.told) == 1


def test_a_job_that_hangs_counts_too(node):
    job = node.run(WEB, 7)
    node.begin(after=1)
    node.watched(WEB)
    job.begin(jobs.LATE)
    job.check()
    node.sentences(1)
    assert node.has(7) == 80


def test_without_libvirt_those_that_are_known_are_heard(node, monkeypatch):
    job = node.run(WEB, 7)
    node.begin(after=1)
    node.watched(WEB)

    def gone():
        raise containers.UnreachableError('libvirt does not answer')
    monkeypatch.setattr(node.reactor, '_running', gone)
    node.reactor.look_again()
    job.miss()
    node.sentences(1)
    assert node.has(7) == 80


def test_one_that_can_be_lent_nothing_is_to_be_moved_and_helped_where_it_is_then(node):
    job = node.run(WEB, 7)
    node.run(DB, 8, ledger.Holding(reservation.Reservation(60_000, 100_000, 1), (0,)))
    node.begin(after=1)
    node.watched(WEB, DB)
    job.miss()
    node.sentences(1)
    job.miss()
    time.sleep(0.1)
    # Not at each miss.
    assert node.to_move == [WEB]
    node.host.move(7, ledger.Holding(reservation.Reservation(30_000, 100_000, 1), (1,)))
    node.reactor.has_room(WEB)
    node.eventually(lambda: WEB not in node.reactor._helped)
    job.miss()
    assert 'up to 50% of a CPU is lent' in node.sentences(2)[1]
    assert node.to_move == [WEB]


def test_where_a_loan_does_not_help_more_is_asked_for_but_not_at_each_miss(node):
    job = node.run(WEB, 7)
    node.begin(after=1, window_s=0.3, for_s=60.0)
    node.watched(WEB)
    job.miss()
    node.sentences(1)
    job.miss()
    time.sleep(0.1)
    assert node.to_move == []
    time.sleep(0.3)
    for _ in range(5):
        job.miss()
        time.sleep(0.05)
    node.eventually(lambda: node.to_move == [WEB])
    # It has the loan for longer, once there is more room.
    node.reactor.has_room(WEB)
    node.eventually(lambda: not node.reactor._helped[WEB].until_s)
    job.miss()
    node.eventually(lambda: node.reactor._helped[WEB].until_s)
    assert len(node.told) == 1


def test_one_that_is_lent_something_stays(node):
    job = node.run(WEB, 7)
    node.begin(after=1)
    node.watched(WEB)
    job.miss()
    node.sentences(1)
    assert node.to_move == []


def test_what_is_found_in_one_server_costs_no_other(node):
    """Not foreseen is what a tenant will put there next."""
    job = node.run(WEB, 7)
    as_usual = ears.to_container

    def listen(watcher, server, container):
        if server == DB:
            raise UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'invalid start byte')
        return as_usual(watcher, server, container)
    node.runs = {DB: containers.Container(8, HELD), **node.runs}
    node.begin(after=1, for_s=0.2, listen=listen)
    node.watched(WEB)
    job.miss()
    node.eventually(lambda: node.has(7) == 30 and len(node.told) == 2)


def test_loans_end_in_time_though_it_cannot_be_seen_what_runs(node, monkeypatch):
    job = node.run(WEB, 7)
    node.begin(after=1, for_s=0.2)
    node.watched(WEB)
    monkeypatch.setattr(node.reactor, '_running', lambda: 1 / 0)
    node.reactor.look_again()
    job.miss()
    node.eventually(lambda: node.has(7) == 30 and len(node.told) == 2)
