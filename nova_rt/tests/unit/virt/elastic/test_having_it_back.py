# SPDX-License-Identifier: Apache-2.0
"""Who was shrunk has its reservation again, at once or when nobody could use it any more."""

import dataclasses
import errno
import threading
import time

import pytest

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.testing.elastic_servers import A
from nova_rt.testing.elastic_servers import C
from nova_rt.testing.elastic_servers import CAP
from nova_rt.testing.elastic_servers import elastic_40
from nova_rt.testing.elastic_servers import HALF
from nova_rt.testing.elastic_servers import holding
from nova_rt.testing.elastic_servers import NoConfinement
from nova_rt.testing.elastic_servers import on_first
from nova_rt.testing.elastic_servers import PERIOD_US
from nova_rt.testing.elastic_servers import reservations
from nova_rt.testing.elastic_servers import soon
from nova_rt.virt import container_host
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors


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


def test_giving_back_takes_a_period_of_the_borrower(run_two, has, lend, machine, shrunk):
    run_two()
    lend(7)
    began = time.monotonic()
    assert machine.give_back(7)
    assert time.monotonic() - began >= PERIOD_US / 1e6
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert not list(shrunk)


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


@pytest.fixture
def lowered(run_two, lend, kernel, book):
    """Restart the service with a cap below what a loan and those beside it have."""
    def lowered(percents):
        run_two()
        lend(7)
        found = detect.detect(kernel, kernel.count)
        cap = bandwidth.fraction_to_bandwidth(percents / 100)
        return container_host.ContainerHost(found, shares.HostShares.empty(
            [cap] * kernel.count, found.occupancy), book=book)
    return lowered


# Below what all have meanwhile, what they have reserved, what one alone has; not in cpu_set.
@pytest.mark.parametrize('percents', [85, 60, 30, 0])
def test_a_cap_that_was_lowered_ends_the_loan_and_all_have_their_own(
        lowered, has, shrunk, percents):
    lowered(percents).reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert not list(shrunk)


def test_a_loan_is_kept_beside_a_pcpu_that_is_overcommitted(run, has, lend, kernel, book):
    held = [(7, holding(40, 0, 1, rank=C)), (8, holding(50, 1))]
    for each in held:
        run(*each)
    lend(7)
    assert has(7)[:2] == [90, 40]
    found = detect.detect(kernel, kernel.count)
    # The second pCPU alone has less by now.
    machine = container_host.ContainerHost(found, shares.HostShares.empty(
        [CAP, HALF, CAP, CAP], found.occupancy), book=book)
    machine.reconcile(held)
    assert has(7)[:2] == [90, 40]


def test_a_cap_that_was_raised_leaves_a_loan(lowered, has):
    lowered(95).reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (80, 10)


@pytest.mark.parametrize('percents', [60, 30])
def test_below_a_lowered_cap_the_kernel_may_refuse_it_for_a_while(
        lowered, has, shrunk, kernel, percents):
    machine = lowered(percents)
    kernel.refuse_containers = errno.EINVAL
    machine.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (80, 10)
    kernel.refuse_containers = None
    machine.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (40, 40)
    assert not list(shrunk)


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


def test_one_that_is_refused_another_reservation_has_its_own_again(
        run_two, has, lend, machine):
    run_two()
    lend(7)
    with pytest.raises(errors.KernelRefusalError):
        machine.apply(8, holding(60, 0, rank=A, least=10))
    assert (has(7)[0], has(8)[0]) == (40, 40)


def test_a_move_of_one_that_is_shrunk_has_all_of_it_moved(run_two, has, lend, machine):
    run_two()
    lend(7)
    machine._confinement = meanwhile = NoConfinement()
    had = []
    meanwhile.move = lambda *args: had.append(has(8))
    machine.move(8, elastic_40(1))
    assert had == [[40, 40, 0, 0]]
    assert has(8) == [0, 40, 0, 0]
    assert has(7) == [40, 0, 0, 0]


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


def test_the_periodic_update_and_the_audit_know_of_it(run_two, has, lend, machine, shrunk):
    run_two()
    lend(7)
    machine.reconcile(reservations())
    assert (has(7)[0], has(8)[0]) == (80, 10)
    assert [on_first(machine.survey({'web': pid}).containers['web'])
            for pid, _ in reservations()] == [40, 40]
    shrunk.forget('machine/8')
    assert on_first(machine.survey({'web': 8}).containers['web']) == 10


def test_what_is_given_up_is_told_while_somebody_has_it(run_two, lend, machine, shrunk):
    run_two()
    assert machine.given_up({'web': 8}) == {}
    lend(7)
    (given_up,) = machine.given_up({'web': 8, 'db': 7, 'ended': 9}).values()
    assert on_first(given_up) == 30
    shrunk.note(dataclasses.replace(shrunk.of('machine/8'), drawn=False))
    assert machine.given_up({'web': 8}) == {}


def test_the_audit_waits_until_it_is_known_who_is_shrunk_for_whom(run, has, lend, machine):
    run(7, holding(40, 0, rank=C))
    run(8, holding(40, 0, rank=A, least=10, period_us=1_000_000))
    lender = threading.Thread(target=lend, args=(7,))
    lender.start()
    while has(8)[0] == 40 and lender.is_alive():
        time.sleep(0.001)
    assert on_first(machine.survey({'web': 8}).containers['web']) == 40
    lender.join()


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


def test_who_was_shrunk_stays_so_while_the_borrower_cannot_give_it_back(
        has, kernel, book, shrunk, monkeypatch):
    # The kernel itself admits nearly twice as much.
    found = detect.detect(kernel, kernel.count)
    machine = container_host.ContainerHost(found, shares.HostShares.empty(
        [HALF] * kernel.count, found.occupancy), book=book)
    for pid, each in [(7, holding(20, 0, rank=C)), (8, holding(20, 0, rank=A, least=5))]:
        kernel.start(pid, f'machine/{pid}')
        machine.apply(pid, each)
    machine.lend(7, HALF, soon(), shrink=True)
    assert (has(7)[0], has(8)[0]) == (45, 5)
    write = kernel.write

    def refusing(*args):
        if 'machine/7' in str(args):
            raise errors.KernelRefusalError('no', errno.EBUSY)
        write(*args)
    monkeypatch.setattr(kernel, 'write', refusing)
    with pytest.raises(errors.KernelRefusalError):
        machine.lend(8, HALF, soon())
    assert (has(7)[0], has(8)[0]) == (45, 5)
    assert shrunk.of('machine/8') is not None
