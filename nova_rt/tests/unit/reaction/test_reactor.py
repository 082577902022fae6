# SPDX-License-Identifier: Apache-2.0
"""The reactor hears real processes; the kernel's budgets are a stand-in's."""

import errno
import time

import pytest

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import errors
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.reaction import loan_policy
from nova_rt.reaction import reactor as reactors
from nova_rt.reaction import threshold
from nova_rt.testing import fake_kernel
from nova_rt.testing import jobs
from nova_rt.testing import retries
from nova_rt.virt import container_host
from nova_rt.virt import containers
from nova_rt.virt import loans
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors as cgroup_errors

pytestmark = retries.ONCE

PATIENCE_S = 30
WEB, DB = 'web', 'db'
HELD = ledger.Holding(reservation.Reservation(30_000, 100_000, 1), (0,))
CAP = bandwidth.fraction_to_bandwidth(0.9)


def policy(after=2, most=0.5, for_s=600.0, shrinks=True):
    return loan_policy.LoanPolicy(
        threshold.Threshold(after, 60.0) if after else None,
        bandwidth.fraction_to_bandwidth(most), for_s, shrinks)


class Node:
    """A host with a reactor.

    Containers have numbers as libvirt gives them, and each a process of its own.
    """

    def __init__(self, folder, new_container, application, monkeypatch):
        self.kernel = fake_kernel.FakeKernel(2, multi=True)
        found = detect.detect(self.kernel, 2)
        self.host = container_host.ContainerHost(
            found, shares.HostShares.empty([CAP] * 2, found.occupancy),
            book=loans.Loans(folder))
        self.told = []
        self.shrunk = []
        self.runs = {}
        self._numbers = {}
        self._new_container = new_container
        self._application = application
        monkeypatch.setattr(containers, 'first_process', self._first_process)
        self.reactor = None

    def _first_process(self, number):
        if number not in self._numbers:
            raise ProcessLookupError(number)
        return self._numbers[number].pid

    def begin(self, quiet_s=0.0, **wanted):
        self.reactor = reactors.Reactor(
            self.host, lambda: dict(self.runs), policy(**wanted),
            lambda server, sentence: self.told.append((server, sentence)),
            lambda server, sentence: self.shrunk.append((server, sentence)), quiet_s)
        self.reactor.start()

    def run(self, server, number, holding=HELD):
        """Start a container, and return the number's control job."""
        self._numbers[number] = made = self._new_container()
        self.kernel.start(number, f'machine/{number}')
        self.host.apply(number, holding)
        self.runs[server] = containers.Container(number, holding)
        return self._application(made)

    def watched(self, *servers):
        """Wait until these servers are watched, and no others."""
        self.reactor.look_again()
        self.eventually(lambda: set(self.reactor._known) == set(servers))

    def eventually(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end, self.told
            time.sleep(0.01)

    def has(self, number):
        return round(self.kernel.bandwidths(f'machine/{number}')[0] * 100 / bandwidth.BW_UNIT)

    def sentences(self, count):
        self.eventually(lambda: len(self.told) >= count)
        return [sentence for _, sentence in self.told]


@pytest.fixture
def node(tmp_path, new_container, application, monkeypatch):
    made = Node(tmp_path / 'loans', new_container, application, monkeypatch)
    yield made
    if made.reactor is not None:
        made.reactor.stop()


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


CRITICAL = ledger.Holding(
    HELD.reservation, HELD.pcpus, elastic.Terms(criticality.Criticality.C))
ELASTIC = ledger.Holding(
    reservation.Reservation(60_000, 100_000, 1), (0,),
    elastic.Terms(criticality.Criticality.A, 20_000))


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
    job, other = node.run(WEB, 7, CRITICAL), node.run(DB, 8, ELASTIC)
    node.begin(after=1)
    node.watched(WEB, DB)
    job.miss()
    node.sentences(1)
    other.miss()
    node.eventually(lambda: len(node.shrunk) == 2)
    assert (node.has(7), node.has(8)) == (30, 60)
    assert node.shrunk[1] == (
        DB, 'It has all of its reservation again, as it missed deadlines itself.')
    assert len(node.told) == 1


def test_the_borrower_is_helped_at_its_next_miss_when_another_has_its_own_again(node):
    job, other = node.run(WEB, 7, CRITICAL), node.run(DB, 8, ELASTIC)
    node.begin(after=1)
    node.watched(WEB, DB)
    job.miss()
    node.sentences(1)
    other.miss()
    node.eventually(lambda: len(node.shrunk) == 2)
    node.kernel.stop(8)
    job.miss()
    node.eventually(lambda: node.has(7) == 80)


def test_the_borrower_is_helped_though_the_other_could_not_have_its_own(node, monkeypatch):
    job, other = node.run(WEB, 7, CRITICAL), node.run(DB, 8, ELASTIC)
    node.begin(after=1)
    node.watched(WEB, DB)
    job.miss()
    node.sentences(1)
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
    job, other = node.run(WEB, 7, CRITICAL), node.run(DB, 8, ELASTIC)
    node.begin(after=1)
    node.watched(WEB, DB)
    job.miss()
    node.sentences(1)
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
