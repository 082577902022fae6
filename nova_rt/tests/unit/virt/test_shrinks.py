# SPDX-License-Identifier: Apache-2.0
"""Elastic containers give way to more critical ones, on the stand-in for the kernel."""

import contextlib
import dataclasses
import errno
import pathlib
import threading
import time

import pytest

from nova_rt import bandwidth
from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.criticality import Criticality
from nova_rt.testing import fake_hcbs
from nova_rt.testing import fake_kernel
from nova_rt.virt import host
from nova_rt.virt import loans
from nova_rt.virt import shrinks
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors

A, B, C = Criticality
CAP = bandwidth.fraction_to_bandwidth(0.9)
HALF = bandwidth.fraction_to_bandwidth(0.5)
PERIOD_US = 10_000
PCPUS = 4


def holding(percents, *pcpus, rank=None, least=None, period_us=PERIOD_US):
    """Return a holding; the least runtime is in percent, too."""
    return ledger.Holding(
        reservation.Reservation(period_us * percents // 100, period_us, len(pcpus)), pcpus,
        elastic.Terms(rank, None if least is None else period_us * least // 100))


def soon():
    return time.monotonic() + 60


@pytest.fixture
def kernel():
    return fake_kernel.FakeKernel(PCPUS, multi=True)


@pytest.fixture
def book(tmp_path):
    return loans.Loans(tmp_path / 'loans')


@pytest.fixture
def shrunk(book):
    """Return the book of those who are shrunk."""
    return shrinks.Shrinks(book.folder)


@pytest.fixture
def open_host(kernel, book):
    """Return this host as a service that starts now would have it."""
    def opened():
        found = detect.detect(kernel, kernel.count)
        return host.ReservationHost(found, shares.HostShares.empty(
            [CAP] * kernel.count, found.occupancy), book=book)
    return opened


@pytest.fixture
def machine(open_host):
    return open_host()


@pytest.fixture
def run(kernel, machine):
    def run(pid, what):
        kernel.start(pid, f'machine/{pid}')
        machine.apply(pid, what)
    return run


def reservations():
    return [(7, holding(40, 0, rank=C)), (8, elastic_40(0))]


@pytest.fixture
def run_two(run):
    return lambda: [run(pid, each) for pid, each in reservations()]


@pytest.fixture
def has(kernel):
    """Return what a container has, by pCPU in percent."""
    def has(pid):
        return [round(each * 100 / bandwidth.BW_UNIT)
                for each in kernel.bandwidths(f'machine/{pid}')]
    return has


@pytest.fixture
def lend(machine):
    def lend(pid, most=HALF, until_s=None):
        return machine.lend(pid, most, until_s or soon(), shrink=True)
    return lend


def elastic_40(*pcpus, rank=A):
    return holding(40, *pcpus, rank=rank, least=10)


def test_a_less_critical_one_gives_up_what_is_lacking_and_no_more(run, has, lend):
    run(7, holding(40, 0, rank=C))
    run(8, elastic_40(0, 1))
    began = time.monotonic()
    lend(7, bandwidth.fraction_to_bandwidth(0.3))
    assert time.monotonic() - began >= PERIOD_US / 1e6
    assert has(7) == [70, 0, 0, 0]
    assert has(8) == [20, 40, 0, 0]


def test_nobody_has_less_than_they_can_live_with(run_two, has, lend):
    run_two()
    lend(7)
    assert has(7) == [80, 0, 0, 0]
    assert has(8) == [10, 0, 0, 0]


def test_where_enough_is_free_nobody_gives_up_anything(run, has, lend):
    run(7, holding(10, 0, rank=C))
    run(8, holding(30, 0, rank=A, least=10))
    lend(7)
    assert has(7)[0] == 60
    assert has(8)[0] == 30


@pytest.mark.parametrize(('misser', 'victim'), [
    (C, C), (B, B), (B, C), (A, A), (None, None), (None, A), (A, B), (A, None)])
def test_only_the_strictly_less_critical_give_way(run, has, lend, misser, victim):
    run(7, holding(40, 0, rank=misser))
    run(8, elastic_40(0, rank=victim))
    lend(7)
    assert has(8)[0] == 40


def test_a_server_without_a_least_runtime_is_never_touched(run, has, lend):
    run(7, holding(40, 0, rank=C))
    run(8, holding(40, 0, rank=A))
    lend(7)
    assert (has(7)[0], has(8)[0]) == (50, 40)


def test_the_least_critical_gives_way_first(run, has, lend):
    run(7, holding(20, 0, rank=C))
    run(8, holding(35, 0, rank=B, least=5))
    run(9, holding(35, 0, rank=A, least=5))
    lend(7, bandwidth.fraction_to_bandwidth(0.4))
    assert (has(7)[0], has(8)[0], has(9)[0]) == (60, 25, 5)


def test_what_a_less_critical_one_has_on_loan_goes_first(run, has, lend, machine):
    run(7, holding(20, 0, rank=C))
    run(8, elastic_40(0))
    machine.lend(8, HALF, soon())
    assert has(8)[0] == 70
    lend(7, bandwidth.fraction_to_bandwidth(0.3))
    assert (has(7)[0], has(8)[0]) == (50, 40)


def test_one_of_which_is_not_known_what_it_counts_as_keeps_its_loan(run, has, lend, machine):
    run(7, holding(20, 0, rank=B))
    # Started before an upgrade: it may be more critical.
    run(8, ledger.Holding(
        reservation.Reservation(2_000, PERIOD_US, 1), (0,), elastic.Terms(known=False)))
    lend(8)
    lend(7)
    assert (has(7)[0], has(8)[0]) == (20, 70)


def test_one_with_a_loan_elsewhere_gives_way_too(run, has, lend, machine):
    run(7, holding(40, 0, rank=C))
    run(8, elastic_40(0, 1))
    run(9, holding(10, 0))
    machine.lend(8, HALF, soon())
    assert has(8) == [40, 90, 0, 0]
    lend(7)
    assert (has(7)[0], has(8)) == (70, [10, 40, 0, 0])


def test_a_loan_elsewhere_stays_where_enough_is_free_here(run, has, lend, kernel, machine):
    run(7, holding(20, 0, rank=C))
    run(8, holding(20, 0, 1, rank=A, least=10))
    run(9, holding(50, 0))
    machine.lend(8, HALF, soon())
    assert has(8) == [20, 70, 0, 0]
    kernel.stop(9)
    lend(7)
    assert (has(7)[0], has(8)) == (70, [20, 70, 0, 0])


def test_a_loan_that_others_were_shrunk_for_goes_to_the_more_critical(run, has, lend):
    run(7, holding(20, 0, rank=C))
    run(8, holding(20, 0, rank=B))
    run(9, elastic_40(0))
    lend(8)
    assert (has(7)[0], has(8)[0], has(9)[0]) == (20, 60, 10)
    lend(7)
    assert (has(7)[0], has(8)[0], has(9)[0]) == (60, 20, 10)


@pytest.mark.parametrize('look', [
    lambda machine: machine.reconcile([
        (7, holding(20, 0, rank=C)), (8, elastic_40(0)), (9, holding(20, 0, rank=A, least=10))]),
    lambda machine: machine.lend(7, bandwidth.fraction_to_bandwidth(0.4), soon(), shrink=True)])
def test_who_gave_up_least_has_its_own_again_where_that_is_free_by_now(
        run, has, lend, kernel, machine, look):
    run(7, holding(20, 0, rank=C))
    run(8, elastic_40(0))
    run(9, holding(20, 0, rank=A, least=10))
    run(10, holding(10, 0))
    lend(7, bandwidth.fraction_to_bandwidth(0.4))
    assert (has(7)[0], has(8)[0], has(9)[0]) == (60, 10, 10)
    kernel.stop(10)
    look(machine)
    assert (has(7)[0], has(8)[0], has(9)[0]) == (60, 10, 20)


def test_what_others_may_still_use_is_not_free_for_who_was_shrunk(
        run, has, lend, kernel, machine):
    held = [(7, holding(20, 0, rank=C)), (8, elastic_40(0)),
            (9, holding(20, 0, rank=C, period_us=4_000_000))]
    for each in held:
        run(*each)
    machine.lend(9, HALF, soon())
    machine.give_back(9)
    lend(7, bandwidth.fraction_to_bandwidth(0.1))
    assert (has(7)[0], has(8)[0]) == (30, 30)
    machine.reconcile(held)
    assert (has(7)[0], has(8)[0]) == (30, 30)


def test_what_one_had_that_has_just_ended_is_lent_to_nobody_yet(run_two, run, has, lend, kernel):
    run_two()
    run(9, holding(10, 0))
    lend(7)
    kernel.stop(7)
    assert has(8)[0] == 10
    # Of 90%, 30% are given up, and were lent.
    lend(9, bandwidth.fraction_to_bandwidth(0.9))
    assert has(9)[0] == 50


def test_giving_back_takes_a_period_of_the_borrower(run_two, has, lend, machine, shrunk):
    run_two()
    lend(7)
    began = time.monotonic()
    assert machine.give_back(7)
    assert time.monotonic() - began >= PERIOD_US / 1e6
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert not list(shrunk)


def test_one_that_misses_again_soon_waits_for_what_it_gave_back(run, has, lend, machine, shrunk):
    run(7, holding(40, 0, rank=C, period_us=200_000))
    run(8, elastic_40(0))
    lend(7, bandwidth.fraction_to_bandwidth(0.1))
    machine.give_back(7)
    assert lend(7)
    assert (has(7)[0], has(8)[0]) == (80, 10)
    assert [each.drawn for each in shrunk] == [True]


def test_nobody_is_shrunk_for_one_that_gets_nothing_by_it(
        run_two, has, kernel, book, shrunk):
    run_two()
    # The operator has lowered the cap below what is held.
    found = detect.detect(kernel, kernel.count)
    lowered = host.ReservationHost(
        found, shares.HostShares.empty([HALF] * kernel.count, found.occupancy), book=book)
    for pid, each in reservations():
        lowered.apply(pid, each)
    assert lowered.lend(7, HALF, soon(), shrink=True) == {}
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert not list(shrunk)


def test_nobody_waits_for_one_with_a_long_period(run, has, lend):
    run(7, holding(40, 0, rank=C))
    run(8, holding(40, 0, rank=A, least=10, period_us=2_000_000))
    lend(7)
    assert has(8)[0] == 40


def test_one_that_misses_while_it_is_shrunk_has_its_reservation_again(run_two, has, lend):
    run_two()
    lend(7)
    began = time.monotonic()
    assert lend(8) == {}
    # It has what is free still.
    assert (has(7)[0], has(8)[0]) == (50, 40)
    assert time.monotonic() - began >= PERIOD_US / 1e6
    lend(7)
    # It is left alone for a while.
    assert (has(7)[0], has(8)[0]) == (50, 40)


def test_one_that_misses_takes_nothing_from_the_borrower_but_its_own(run, has, lend, machine):
    run(7, holding(20, 0, rank=C))
    run(8, holding(30, 0, rank=A, least=10))
    run(9, holding(30, 0, rank=A, least=15))
    lend(7)
    assert (has(7)[0], has(8)[0], has(9)[0]) == (65, 10, 15)
    lend(8)
    assert (has(7)[0], has(8)[0], has(9)[0]) == (45, 30, 15)
    machine.give_back(7)
    assert (has(7)[0], has(8)[0], has(9)[0]) == (20, 30, 30)


def test_one_that_misses_has_what_is_free_by_now_and_the_borrower_keeps_all(
        run, has, lend, kernel):
    run(7, holding(20, 0, rank=C))
    run(8, holding(30, 0, rank=A, least=10))
    run(9, holding(30, 0))
    lend(7, bandwidth.fraction_to_bandwidth(0.3))
    assert (has(7)[0], has(8)[0]) == (50, 10)
    kernel.stop(9)
    lend(8)
    assert (has(7)[0], has(8)[0]) == (50, 30)


@pytest.mark.parametrize('percents', [10, 20, 40, 50])
def test_another_reservation_of_one_that_is_shrunk_counts(
        run_two, has, lend, machine, shrunk, percents):
    run_two()
    lend(7)
    machine.apply(8, holding(percents, 0, rank=A, least=10))
    assert has(8)[0] == percents
    assert not list(shrunk)


def test_a_move_of_one_that_is_shrunk_has_all_of_it_moved(run_two, has, lend, machine):
    run_two()
    lend(7)
    machine._confinement = meanwhile = Still()
    had = []
    meanwhile.move = lambda *args: had.append(has(8))
    machine.move(8, elastic_40(1))
    assert had == [[40, 40, 0, 0]]
    assert has(8) == [0, 40, 0, 0]
    assert has(7) == [40, 0, 0, 0]


def test_one_that_is_moved_is_not_shrunk_meanwhile(run_two, has, lend, machine):
    run_two()
    machine._confinement = meanwhile = Still()
    meanwhile.move = lambda *args: lend(7)
    machine.move(8, elastic_40(1))
    assert has(8) == [0, 40, 0, 0]


def test_a_server_that_needs_the_room_gets_it_and_all_have_theirs(run_two, run, has, lend, shrunk):
    run_two()
    lend(7)
    run(9, holding(10, 0))
    assert (has(7)[0], has(8)[0], has(9)[0]) == (40, 40, 10)
    assert not list(shrunk)


def test_a_borrower_that_ends_leaves_it_to_whose_it_is(run_two, has, lend, kernel, machine):
    run_two()
    lend(7)
    kernel.stop(7)
    machine.take_back('machine/7')
    assert has(8)[0] == 40


def test_a_borrower_that_ends_during_the_periodic_update_is_waited_for(
        run, has, lend, kernel, machine, book, monkeypatch):
    held = [(7, holding(40, 0, rank=C, period_us=300_000)), (8, elastic_40(0))]
    for each in held:
        run(*each)
    lend(7)
    keeps, ended = machine._keeps_loan, []

    def ending(pid, holding):
        kept = keeps(pid, holding)
        if pid == 8 and not ended:
            kernel.stop(7)
            ended.append(time.monotonic())
        return kept
    monkeypatch.setattr(machine, '_keeps_loan', ending)
    machine.reconcile(held)
    assert has(8)[0] == 40
    assert time.monotonic() - ended[0] >= 0.3
    machine.reconcile(held[1:])
    assert not list(book)


def test_one_that_is_shrunk_may_end(run_two, has, lend, kernel, machine, shrunk):
    run_two()
    lend(7)
    kernel.stop(8)
    machine.reconcile([(7, holding(40, 0, rank=C))])
    assert has(7)[0] == 80
    assert not list(shrunk)


def test_one_that_ends_while_it_is_asked_keeps_others_from_nothing(
        run, has, lend, kernel, machine, shrunk, monkeypatch):
    run(7, holding(20, 0, rank=C))
    run(8, holding(30, 0, rank=A, least=10))
    run(9, holding(30, 0, rank=A, least=10))
    apply = machine._hierarchy.apply

    def ending(group, wanted):
        if group == 'machine/9':
            kernel.stop(9)
        apply(group, wanted)
    monkeypatch.setattr(machine._hierarchy, 'apply', ending)
    lend(7)
    assert (has(7)[0], has(8)[0]) == (70, 10)
    assert [each.group for each in shrunk] == ['machine/8']


def test_nobody_else_is_lent_what_was_given_up(run, has, lend, machine, book):
    run(7, holding(20, 0, rank=C))
    run(8, elastic_40(0))
    run(9, holding(30, 0, rank=B))
    lend(7)
    # As if the loan had not come to be: the service was killed in between.
    machine._hierarchy.apply('machine/7', book.of('machine/7').own)
    book.forget('machine/7')
    assert machine.lend(9, HALF, soon()) == {}


def test_the_periodic_update_and_the_audit_know_of_it(run_two, has, lend, machine, shrunk):
    run_two()
    lend(7)
    machine.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (80, 10)
    assert [percents(machine.survey({'web': pid}).containers['web'])
            for pid, _ in reservations()] == [40, 40]
    shrunk.forget('machine/8')
    assert percents(machine.survey({'web': 8}).containers['web']) == 10


def test_the_audit_waits_until_it_is_known_who_is_shrunk_for_whom(run, has, lend, machine):
    run(7, holding(40, 0, rank=C))
    run(8, holding(40, 0, rank=A, least=10, period_us=1_000_000))
    lender = threading.Thread(target=lend, args=(7,))
    lender.start()
    while has(8)[0] == 40:
        time.sleep(0.001)
    assert percents(machine.survey({'web': 8}).containers['web']) == 40
    lender.join()


def percents(bandwidths):
    return round(bandwidths[0] * 100 / bandwidth.BW_UNIT)


def test_the_periodic_update_ends_it_with_the_loan(run_two, has, lend, machine):
    run_two()
    lend(7, until_s=time.monotonic() + 0.01)
    time.sleep(0.02)
    machine.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (40, 40)


@pytest.mark.parametrize('now', [
    holding(40, 0, rank=C, least=10), holding(40, 0, rank=A), holding(40, 0, rank=A, least=20)])
def test_the_periodic_update_ends_what_the_terms_no_longer_allow( run_two, has, lend, machine, now):
    run_two()
    lend(7)
    machine.reconcile([reservations()[0], (8, now)])
    assert (has(7)[0], has(8)[0]) == (40, 40)


def test_a_service_that_starts_again_keeps_it_until_the_loan_ends( run_two, has, lend, open_host):
    run_two()
    lend(7)
    opened = open_host()
    opened.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (80, 10)
    assert opened.shrunk().keys() == {8}
    assert opened.give_back(7)
    assert (has(7)[0], has(8)[0]) == (40, 40)


@pytest.mark.parametrize('left', ['', '{', '[]', '{"group": 1}', '{"group": "machine/8", '
                                  '"own": 1, "less": 2, "borrower": "x", "since_s": "x"}'])
def test_what_cannot_be_read_is_put_right(run_two, has, lend, machine, shrunk, left):
    run_two()
    lend(7)
    (path,) = shrunk._folder.glob('machine*')
    path.write_text(left)
    machine.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (40, 40)


@pytest.mark.parametrize('nth', range(1, 12))
def test_what_the_kernel_refuses_for_a_moment_is_tried_again(
        run_two, run, has, lend, kernel, machine, monkeypatch, nth):
    run_two()
    run(9, holding(5, 0))
    lend(7)
    write, left = kernel.write, [nth]

    def failing(*args):
        left[0] -= 1
        if left[0] == 0:
            raise errors.KernelRefusalError('It counts what has ended.', errno.EINVAL)
        write(*args)
    with monkeypatch.context() as patched:
        patched.setattr(kernel, 'write', failing)
        machine.apply(9, holding(10, 0))
    assert (has(7)[0], has(8)[0], has(9)[0]) == (40, 40, 10)


@pytest.mark.parametrize('nth', range(1, 12))
@pytest.mark.parametrize('fault', [errors.KernelRefusalError, SystemExit])
def test_whatever_is_refused_or_cut_off_is_put_right(
        run_two, has, lend, kernel, open_host, monkeypatch, shrunk, fault, nth):
    run_two()
    left = [nth]
    write = kernel.write

    def failing(*args):
        left[0] -= 1
        if left[0] == 0 or (left[0] < 0 and fault is SystemExit):
            raise SystemExit if fault is SystemExit else fault('no', errno.EINVAL)
        write(*args)
    with monkeypatch.context() as patched:
        patched.setattr(kernel, 'write', failing)
        with contextlib.suppress(fault):
            lend(7)
    if fault is errors.KernelRefusalError:
        # All is as before, but for what is free, or nothing was refused.
        assert (has(7)[0], has(8)[0]) in ((40, 40), (50, 40), (80, 10))
    opened = open_host()
    opened.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) in ((40, 40), (50, 40), (80, 10))
    opened.give_back(7)
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert not list(shrunk)


def test_more_that_is_cut_off_never_adds_up_to_more_than_the_cap(
        kernel, book, monkeypatch):
    # The kernel itself admits nearly twice as much.
    def opened():
        found = detect.detect(kernel, kernel.count)
        return host.ReservationHost(found, shares.HostShares.empty(
            [HALF] * kernel.count, found.occupancy), book=book)
    machine, write, most = opened(), kernel.write, []
    held = [(8, holding(20, 0, rank=A, least=5)), (7, holding(20, 0, rank=C))]
    for pid, each in held:
        kernel.start(pid, f'machine/{pid}')
        machine.apply(pid, each)
    machine.lend(7, bandwidth.fraction_to_bandwidth(0.2), soon(), shrink=True)
    # What a service leaves that is killed while it lends more.
    noted = book.of('machine/7')
    book.note(dataclasses.replace(noted, whole=budget.Budget(PERIOD_US, (4_500, 0, 0, 0))))

    def watched(*args):
        write(*args)
        most.append(sum(percents(kernel.bandwidths(f'machine/{pid}')) for pid, _ in held))
    monkeypatch.setattr(kernel, 'write', watched)
    opened().reconcile(held)
    assert max(most) <= 50
    assert [percents(kernel.bandwidths(f'machine/{pid}')) for pid, _ in held] == [20, 20]


def test_one_that_cannot_be_noted_to_have_it_gives_it_back_first(
        run_two, has, lend, kernel, shrunk, monkeypatch):
    run_two()
    note, write, sums, changed = shrinks.Shrinks.note, kernel.write, [], []

    def full(book, shrink):
        if shrink.drawn:
            raise OSError(errno.ENOSPC, 'No space left on device')
        note(book, shrink)

    def watched(*args):
        write(*args)
        sums.append(has(7)[0] + has(8)[0])
        changed.append((has(7)[0], has(8)[0], time.monotonic()))
    monkeypatch.setattr(shrinks.Shrinks, 'note', full)
    monkeypatch.setattr(kernel, 'write', watched)
    assert lend(7) == {}
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert max(sums) <= 90
    had = max(at for its, _, at in changed if its == 80)
    lowered = min(at for _, _, at in changed if at > had)
    restored = min(at for _, other, at in changed if at > had and other == 40)
    assert restored - lowered >= PERIOD_US / 1e6
    assert not list(shrunk)


@pytest.mark.parametrize(('since_s', 'cools'), [(-3.0, False), (-0.005, True), (5000.0, False)])
def test_what_was_noted_before_another_boot_does_not_cool_for_long(monkeypatch, since_s, cools):
    now_s = 1000.0
    monkeypatch.setattr(time, 'monotonic', lambda: now_s)
    own, less = (budget.Budget(PERIOD_US * 100, (each,)) for each in (4_000, 1_000))
    for noted in (shrinks.Shrink('a', own, less, 'b', now_s + since_s),
                  loans.Loan('a', less, own, 0.0, now_s + since_s)):
        assert (noted.cooling_s > 0) is cools
        assert noted.cooling_s <= 1


def test_no_loan_is_longer_than_a_day(run_two, lend, book):
    run_two()
    lend(7, until_s=time.monotonic() + 1e6)
    assert book.of('machine/7').until_s <= time.monotonic() + loans.LONGEST_S


def test_a_loan_that_was_noted_before_another_boot_has_ended(monkeypatch):
    own = budget.Budget(PERIOD_US, (1_000,))
    now_s = 1000.0
    monkeypatch.setattr(time, 'monotonic', lambda: now_s)
    assert loans.Loan('a', own, own, now_s + loans.LONGEST_S + 1).has_ended
    assert not loans.Loan('a', own, own, now_s + loans.LONGEST_S).has_ended


@pytest.fixture
def full(monkeypatch):
    """Let nothing more be written down once it is called."""
    def fill(*args, **kwargs):
        raise OSError(errno.ENOSPC, 'No space left on device')
    return lambda: [monkeypatch.setattr(pathlib.Path, name, fill)
                    for name in ('write_text', 'touch', 'unlink')]


def ends(machine, kernel):
    kernel.stop(7)
    machine.take_back('machine/7')


@pytest.mark.parametrize('end', [
    lambda machine, kernel: machine.give_back(7), ends,
    lambda machine, kernel: machine.apply(7, reservations()[0][1]),
    lambda machine, kernel: machine.lend(8, HALF, soon(), shrink=True)])
def test_all_have_their_own_again_though_nothing_can_be_written_down(
        run_two, has, lend, kernel, machine, full, end):
    run_two()
    lend(7)
    full()
    began = time.monotonic()
    end(machine, kernel)
    assert has(8)[0] == 40
    assert time.monotonic() - began >= PERIOD_US / 1e6


def test_nobody_else_has_to_do_with_what_cannot_be_written_down(
        run_two, run, has, lend, kernel, machine, full):
    run_two()
    run(9, holding(10, 1))
    lend(7)
    full()
    kernel.stop(9)
    machine.take_back('machine/9')
    machine.reconcile(reservations())
    run(10, holding(10, 0))
    assert (has(7)[0], has(8)[0], has(10)[0]) == (40, 40, 10)
    machine.reconcile([*reservations(), (10, holding(10, 0))])
    assert (has(7)[0], has(8)[0], has(10)[0]) == (40, 40, 10)


def test_the_next_is_settled_though_one_cannot_be(run, has, lend, kernel, machine, monkeypatch):
    for pid, pcpu in ((7, 0), (17, 1)):
        run(pid, holding(20, pcpu, rank=C))
        run(pid + 1, elastic_40(pcpu))
        run(pid + 2, holding(30, pcpu))
        lend(pid)
    take_back = machine._lending._loans.take_back

    def unwritable(group):
        if group == 'machine/17':
            raise OSError(errno.EROFS, 'Read-only file system')
        return take_back(group)
    monkeypatch.setattr(machine._lending._loans, 'take_back', unwritable)
    kernel.stop(17)
    kernel.stop(7)
    machine.take_back('machine/7')
    assert (has(8)[0], has(18)[1]) == (40, 10)


def test_taking_turns_writes_nothing(run_two, lend, book):
    run_two()
    lend(7)
    before = sorted(book.folder.iterdir())
    with loans.Loans(book.folder).turn():
        assert sorted(book.folder.iterdir()) == before
    assert '.turn' not in {path.name for path in before}


def test_where_reservations_occupy_every_pcpu_it_is_shrunk_on_every_one(book):
    kernel = fake_hcbs.FakeMaxKernel(PCPUS)
    found = detect.detect(kernel, kernel.count)
    machine = host.ReservationHost(found, shares.HostShares.empty(
        [CAP] * kernel.count, found.occupancy), book=book)
    for pid, each in ((7, holding(40, 0, rank=C)), (8, elastic_40(1))):
        kernel.start(pid, f'machine/{pid}')
        machine.apply(pid, each)
    machine.lend(7, HALF, soon(), shrink=True)
    assert [percents(kernel.bandwidths(f'machine/{pid}')) for pid in (7, 8)] == [80, 10]


class Still:
    """Stands in for cpusets, which the stand-in for the kernel has not."""

    def move(self, *args):
        pass

    follow = move
