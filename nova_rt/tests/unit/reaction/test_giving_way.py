# SPDX-License-Identifier: Apache-2.0
"""The reactor has less critical servers give way, and tells of it."""

import errno
import time

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.reaction import reactor as reactors
from nova_rt.testing import retries
from nova_rt.tests.unit.reaction.nodes import DB
from nova_rt.tests.unit.reaction.nodes import HELD
from nova_rt.tests.unit.reaction.nodes import WEB
from nova_rt.virt.cgroup import errors as cgroup_errors

pytestmark = retries.ONCE

CRITICAL = ledger.Holding(
    HELD.reservation, HELD.pcpus, elastic.Terms(criticality.Criticality.C))
ELASTIC = ledger.Holding(
    reservation.Reservation(60_000, 100_000, 1), (0,),
    elastic.Terms(criticality.Criticality.A, 20_000))


def lent_what_another_gave_up(node):
    """Return the control jobs of a critical server with a loan, and of the one shrunk for it."""
    job, other = node.run(WEB, 7, CRITICAL), node.run(DB, 8, ELASTIC)
    node.begin(after=1)
    node.watched(WEB, DB)
    job.miss()
    node.sentences(1)
    return job, other


def test_a_less_critical_one_gives_way_and_both_are_told(node):
    job = node.run(WEB, 7, CRITICAL)
    node.run(DB, 8, ELASTIC)
    node.begin(after=1, for_s=1.0)
    node.watched(WEB, DB)
    job.miss()
    assert node.sentences(1) == [
        'It missed 1 deadline or more within 60 s: up to 40% of a CPU is lent to each vCPU, '
        'until 1 s have passed without that.']
    assert node.shrunk == [(DB, (
        'A more critical server misses deadlines on its pCPUs: this one has 20% of a CPU for a '
        'vCPU there, instead of 60%, until 1 s have passed without that.'))]
    node.sentences(2)
    assert (node.has(7), node.has(8)) == (30, 60)
    assert node.shrunk[1:] == [(DB, 'It has all of its reservation again.')]


def test_one_that_misses_while_it_is_shrunk_has_its_own_again(node):
    _, other = lent_what_another_gave_up(node)
    other.miss()
    node.eventually(lambda: len(node.shrunk) == 2)
    assert (node.has(7), node.has(8)) == (30, 60)
    assert node.shrunk[1] == (
        DB, 'It has all of its reservation again, as it missed deadlines itself.')
    assert len(node.told) == 1


def test_the_borrower_is_helped_at_its_next_miss_when_another_has_its_own_again(node):
    job, other = lent_what_another_gave_up(node)
    other.miss()
    node.eventually(lambda: len(node.shrunk) == 2)
    node.kernel.stop(8)
    job.miss()
    node.eventually(lambda: node.has(7) == 80)


def test_the_borrower_is_helped_though_the_other_could_not_have_its_own(node, monkeypatch):
    job, other = lent_what_another_gave_up(node)
    lend = node.host.lend

    def refused(number, *args):
        if number == 7:
            return lend(number, *args)
        node.host.give_back(7)
        raise cgroup_errors.KernelRefusalError('no', errno.EINVAL)
    monkeypatch.setattr(node.host, 'lend', refused)
    other.miss()
    node.eventually(lambda: node.has(7) == 30)
    node.eventually(lambda: DB in node.reactor._helped)
    job.miss()
    node.eventually(lambda: node.has(7) == 70)


def test_one_that_had_a_loan_has_its_own_again_too(node):
    job = node.run(WEB, 7, CRITICAL)
    other = node.run(DB, 8, ledger.Holding(
        reservation.Reservation(40_000, 100_000, 1), (0,), ELASTIC.terms))
    node.begin(after=1)
    node.watched(WEB, DB)
    other.miss()
    node.eventually(lambda: node.has(8) == 60)
    job.miss()
    node.eventually(lambda: (node.has(7), node.has(8)) == (70, 20))
    other.miss()
    node.eventually(lambda: (node.has(7), node.has(8)) == (50, 40))


def test_one_that_could_be_lent_nothing_has_its_own_again_too(node):
    job, other = node.run(WEB, 7, CRITICAL), node.run(DB, 8, ELASTIC)
    node.begin(after=1)
    node.watched(WEB, DB)
    other.miss()
    node.sentences(1)
    job.miss()
    node.eventually(lambda: node.has(7) == 70)
    other.miss()
    node.eventually(lambda: (node.has(7), node.has(8)) == (30, 60))


def test_one_that_is_refused_its_own_is_given_it_soon(node, monkeypatch):
    monkeypatch.setattr(reactors, '_AGAIN_S', 0.3)
    _, other = lent_what_another_gave_up(node)
    lend, asked = node.host.lend, []

    def refused(number, *args):
        if number == 8:
            asked.append(number)
            if len(asked) == 1:
                raise cgroup_errors.KernelRefusalError('no', errno.EINVAL)
        return lend(number, *args)
    monkeypatch.setattr(node.host, 'lend', refused)
    for _ in range(5):
        other.miss()
    node.eventually(lambda: asked)
    time.sleep(0.1)
    assert len(asked) == 1
    time.sleep(0.3)
    other.miss()
    node.eventually(lambda: (node.has(7), node.has(8)) == (30, 60))


def test_a_loan_that_could_not_be_renewed_is_given_back(node, monkeypatch):
    job = node.run(WEB, 7)
    node.begin(after=1, for_s=1.0)
    node.watched(WEB)
    job.miss()
    node.sentences(1)
    asked = []

    def refused(*args):
        asked.append(args)
        raise cgroup_errors.KernelRefusalError('no', errno.EINVAL)
    monkeypatch.setattr(node.host, 'lend', refused)
    while not asked:
        job.miss()
        time.sleep(0.05)
    assert node.sentences(2)[1] == 'What was lent to it has been given back.'
    assert node.has(7) == 30


def test_what_ends_without_the_reactor_is_told_too(node):
    job = node.run(WEB, 7, CRITICAL)
    node.run(DB, 8, ELASTIC)
    node.begin(after=1)
    node.watched(WEB, DB)
    job.miss()
    node.sentences(1)
    node.host.apply(8, ELASTIC)
    node.eventually(lambda: len(node.shrunk) == 2)
    assert node.has(8) == 60


def test_a_reactor_that_starts_again_tells_the_end_only(node):
    node.run(WEB, 7, CRITICAL)
    node.run(DB, 8, ELASTIC)
    node.host.lend(7, bandwidth.BW_UNIT, time.monotonic() + 60, shrink=True)
    node.begin(after=1)
    node.watched(WEB, DB)
    node.host.give_back(7)
    node.eventually(lambda: node.shrunk)
    assert node.shrunk == [(DB, 'It has all of its reservation again.')]


def test_where_the_operator_wants_it_nobody_is_shrunk(node):
    job = node.run(WEB, 7, CRITICAL)
    node.run(DB, 8, ELASTIC)
    node.begin(after=1, shrinks=False)
    node.watched(WEB, DB)
    job.miss()
    assert node.sentences(1)[0].endswith('but nothing is free on its pCPUs.')
    assert node.has(8) == 60
