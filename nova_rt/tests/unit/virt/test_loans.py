# SPDX-License-Identifier: Apache-2.0
"""Loans on the stand-in for the kernel, which admits and refuses as the real one does."""

import errno
import shutil
import threading
import time

import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import fake_hcbs
from nova_rt.testing import fake_kernel
from nova_rt.virt import container_host
from nova_rt.virt import host
from nova_rt.virt import loans
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors

CAP = bandwidth.fraction_to_bandwidth(0.9)
ALL = bandwidth.BW_UNIT
# Short, as whoever calls something in waits for one.
PERIOD_US = 10_000
PCPUS = 4


def percent(value):
    return bandwidth.to_bandwidth(value, 100)


def holding(percents, *pcpus):
    return ledger.Holding(reservation.Reservation(
        PERIOD_US * percents // 100, PERIOD_US, len(pcpus)), pcpus)


def in_percent(bandwidths):
    return [round(each * 100 / bandwidth.BW_UNIT) for each in bandwidths]


def out(book):
    """Return the loans that have not been given back."""
    return [loan for loan in book if loan.returned_s is None]


def soon():
    return time.monotonic() + 60


@pytest.fixture
def kernel():
    return fake_kernel.FakeKernel(PCPUS, multi=True)


@pytest.fixture
def book(tmp_path):
    return loans.Loans(tmp_path / 'loans')


@pytest.fixture
def open_host(kernel, book):
    """Return this host as a service that starts now would have it."""
    def opened():
        found = detect.detect(kernel, kernel.count)
        return container_host.ContainerHost(found, shares.HostShares.empty(
            [CAP] * kernel.count, found.occupancy), book=book)
    return opened


@pytest.fixture
def machine(open_host):
    return open_host()


def run(kernel, machine, pid, what):
    kernel.start(pid, f'machine/{pid}')
    machine.apply(pid, what)
    return f'machine/{pid}'


def has(kernel, pid):
    return kernel.percents(f'machine/{pid}')


def test_what_is_free_within_the_cap_is_lent_on_the_pcpus_that_it_has(kernel, machine):
    run(kernel, machine, 7, holding(30, 0, 1))
    run(kernel, machine, 8, holding(50, 1, 2))
    lent = machine.lend(7, ALL, soon())
    assert {pcpu: in_percent([each]) for pcpu, each in lent.items()} == {0: [60], 1: [10]}
    assert has(kernel, 7) == [90, 40, 0, 0]
    assert has(kernel, 8) == [0, 50, 50, 0]
    assert in_percent(kernel.bandwidths('machine')) == [90, 90, 50, 0]


def test_no_more_is_lent_than_is_allowed(kernel, machine):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, percent(20), soon())
    assert has(kernel, 7) == [50, 0, 0, 0]


def test_where_nothing_is_free_nothing_is_lent_or_noted(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    run(kernel, machine, 8, holding(60, 0))
    assert machine.lend(7, ALL, soon()) == {}
    assert not list(book)


def test_a_loan_is_lent_anew_with_what_is_free_then(kernel, machine):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, percent(10), soon())
    machine.lend(7, percent(30), soon())
    assert has(kernel, 7) == [60, 0, 0, 0]


def test_applying_gives_it_back(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    machine.apply(7, holding(30, 0))
    assert has(kernel, 7) == [30, 0, 0, 0]
    assert in_percent(kernel.bandwidths('machine')) == [30, 0, 0, 0]
    assert not out(book)


def test_giving_back_ends_it_and_only_once(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    assert machine.give_back(7)
    assert not machine.give_back(7)
    assert has(kernel, 7) == [30, 0, 0, 0]
    assert in_percent(kernel.bandwidths('machine')) == [30, 0, 0, 0]


def test_one_that_was_changed_meanwhile_has_nothing_to_give_back(kernel, machine):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    machine.apply(7, holding(40, 0))
    assert not machine.give_back(7)
    assert has(kernel, 7) == [40, 0, 0, 0]


def test_one_without_a_reservation_yet_is_lent_nothing(kernel, machine):
    kernel.start(7, 'machine/7')
    assert machine.lend(7, ALL, soon()) == {}


def test_another_server_that_needs_the_room_gets_it(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0, 1))
    machine.lend(7, ALL, soon())
    run(kernel, machine, 8, holding(60, 0))
    assert has(kernel, 8) == [60, 0, 0, 0]
    assert has(kernel, 7) == [30, 30, 0, 0]
    assert not out(book)


def test_a_loan_elsewhere_is_left_to_its_server(kernel, machine):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    run(kernel, machine, 8, holding(60, 1))
    assert has(kernel, 7) == [90, 0, 0, 0]


def test_a_move_calls_in_what_is_lent_on_its_way_and_ends_its_own(kernel, machine, book):
    for pid, pcpu in ((7, 0), (8, 1)):
        run(kernel, machine, pid, holding(40, pcpu))
        machine.lend(pid, ALL, soon())
    machine._confinement = NoConfinement()
    machine.move(7, holding(40, 1))
    assert has(kernel, 7) == [0, 40, 0, 0]
    assert has(kernel, 8) == [0, 40, 0, 0]
    assert not out(book)


def test_nobody_is_refused_for_a_loan_while_its_server_is_moved(kernel, machine):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    machine._confinement = meanwhile = NoConfinement()
    meanwhile.move = lambda *args: run(kernel, machine, 8, holding(60, 0))
    machine.move(7, holding(30, 1))
    assert has(kernel, 8) == [60, 0, 0, 0]
    assert has(kernel, 7) == [0, 30, 0, 0]


def test_what_is_lent_during_a_move_is_not_kept_where_the_server_was(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine._confinement = meanwhile = NoConfinement()
    meanwhile.move = lambda *args: machine.lend(7, percent(10), soon())
    machine.move(7, holding(30, 1))
    assert has(kernel, 7) == [0, 30, 0, 0]
    assert not out(book)


@pytest.mark.parametrize('become', [
    lambda machine: machine.move(7, holding(50, 1)),
    lambda machine: machine.apply(7, holding(10, 0))], ids=['moved', 'smaller'])
def test_what_a_server_had_until_now_is_not_lent_in_its_period(kernel, machine, become):
    run(kernel, machine, 7, holding(50, 0))
    run(kernel, machine, 8, holding(40, 0))
    machine._confinement = NoConfinement()
    began = time.monotonic()
    become(machine)
    lent = machine.lend(8, ALL, soon())
    assert not lent or time.monotonic() - began >= PERIOD_US / 1e6
    time.sleep(PERIOD_US / 1e6)
    assert machine.lend(8, ALL, soon())


def test_a_loan_that_cannot_be_called_in_keeps_nobody_from_room_that_there_is(
        kernel, machine, monkeypatch):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, percent(10), soon())
    write = kernel.write

    def refusing(group, name, text):
        if group == 'machine/7':
            raise errors.KernelRefusalError('It counts what has ended.', errno.EBUSY)
        write(group, name, text)
    monkeypatch.setattr(kernel, 'write', refusing)
    run(kernel, machine, 8, holding(20, 0))
    assert has(kernel, 8) == [20, 0, 0, 0]


def test_what_was_lent_is_given_to_another_after_a_period_of_the_borrower(kernel, machine):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    began = time.monotonic()
    machine.give_back(7)
    run(kernel, machine, 8, holding(60, 0))
    assert time.monotonic() - began >= PERIOD_US / 1e6


def test_one_that_is_lent_again_soon_waits_until_it_cannot_use_what_it_had(kernel, machine):
    run(kernel, machine, 7, holding(30, 0))
    run(kernel, machine, 8, holding(10, 0))
    machine.lend(7, percent(40), soon())
    began = time.monotonic()
    machine.give_back(7)
    assert in_percent(machine.lend(7, percent(20), soon()).values()) == [20]
    assert time.monotonic() - began >= PERIOD_US / 1e6
    assert in_percent(machine.lend(8, ALL, soon()).values()) == [30]


def test_what_one_with_a_long_period_may_still_use_is_lent_to_nobody(kernel, machine):
    run(kernel, machine, 7, ledger.Holding(
        reservation.Reservation(1_200_000, 4_000_000, 1), (0,)))
    run(kernel, machine, 8, holding(10, 0))
    machine.lend(7, percent(40), soon())
    machine.give_back(7)
    assert machine.lend(7, percent(20), soon()) == {}
    assert in_percent(machine.lend(8, ALL, soon()).values()) == [10]


def assert_lends_after_another_process(machine, book):
    lent = []
    lender = threading.Thread(target=lambda: lent.append(machine.lend(7, ALL, soon())))
    # Another one has a book of its own of the same folder.
    with loans.Loans(book.folder).turn():
        lender.start()
        lender.join(0.2)
        assert not lent
    lender.join()
    assert lent


def test_a_process_that_lends_waits_for_another_that_calls_in(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, percent(10), soon())
    assert_lends_after_another_process(machine, book)


def test_the_first_loan_since_boot_waits_for_another_process_too(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    shutil.rmtree(book.folder)
    assert_lends_after_another_process(machine, book)


def test_where_no_folder_can_be_made_a_turn_is_nobodys(tmp_path):
    (tmp_path / 'file').touch()
    with loans.Loans(tmp_path / 'file' / 'loans').turn():
        pass


def test_a_reservation_as_large_as_a_loan_that_was_is_none(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, percent(10), soon())
    machine.apply(7, holding(40, 0))
    assert not machine.give_back(7)
    run(kernel, machine, 8, holding(50, 0))
    assert has(kernel, 7) == [40, 0, 0, 0]


def test_a_confined_server_stays_confined_while_it_has_a_loan(kernel, machine):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    followed = []
    machine._confinement = meanwhile = NoConfinement()
    meanwhile.follow = lambda *args: followed.append(args)
    machine.reconcile([(7, holding(30, 0))])
    assert followed == [('machine/7', frozenset({0}))]


class NoConfinement:
    """Stands in for cpusets, which the stand-in for the kernel has not."""

    def move(self, *args):
        pass

    def follow(self, *args):
        pass


def test_the_periodic_update_keeps_a_loan_until_it_ends(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    machine.reconcile([(7, holding(30, 0))])
    assert has(kernel, 7) == [90, 0, 0, 0]
    machine.lend(7, ALL, time.monotonic())
    machine.reconcile([(7, holding(30, 0))])
    assert has(kernel, 7) == [30, 0, 0, 0]
    assert not out(book)


def test_a_service_that_starts_again_gives_back_what_has_ended(kernel, machine, open_host):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, time.monotonic())
    open_host().reconcile([(7, holding(30, 0))])
    assert has(kernel, 7) == [30, 0, 0, 0]


@pytest.mark.parametrize('left', ['', '{', '[]', '{"group": 1}', '{"group": "machine/7", '
                                  '"own": 1, "whole": 2, "until_s": "x"}'])
def test_a_loan_that_cannot_be_read_is_none(kernel, machine, book, left):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    (path,) = book._folder.glob('machine*')
    path.write_text(left)
    machine.reconcile([(7, holding(30, 0))])
    assert has(kernel, 7) == [30, 0, 0, 0]


@pytest.mark.parametrize('fault', [errors.KernelRefusalError, SystemExit])
@pytest.mark.parametrize('before', [0, 20])
def test_a_loan_that_the_kernel_refuses_or_that_is_cut_off_is_found_and_put_right(
        kernel, machine, book, open_host, monkeypatch, fault, before):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, percent(before), soon())
    with monkeypatch.context() as patched:
        def write(group, name, text):
            raise SystemExit if fault is SystemExit else fault('no', errno.EINVAL)
        patched.setattr(kernel, 'write', write)
        with pytest.raises(fault):
            machine.lend(7, ALL, soon())
    assert has(kernel, 7) == [30 + before, 0, 0, 0]
    open_host().reconcile([(7, holding(30, 0))])
    # Cut off, it is not known whether it was made; refused, all is as before.
    kept = before and fault is not SystemExit
    assert has(kernel, 7) == [30 + (before if kept else 0), 0, 0, 0]
    assert bool(out(book)) == bool(kept)


def test_a_container_that_ends_takes_its_loan_along(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    kernel.stop(7)
    machine.reconcile([])
    assert not out(book)
    assert in_percent(kernel.bandwidths('machine')) == [0] * PCPUS


def test_another_reservation_ends_the_loan(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    machine.reconcile([(7, holding(40, 0))])
    assert has(kernel, 7) == [40, 0, 0, 0]
    assert not out(book)


def test_a_loan_is_no_drift_and_what_is_no_loan_is(kernel, machine, book):
    run(kernel, machine, 7, holding(30, 0))
    machine.lend(7, ALL, soon())
    assert in_percent(machine.survey({'web': 7}).containers['web']) == [30, 0, 0, 0]
    book.forget('machine/7')
    assert in_percent(machine.survey({'web': 7}).containers['web']) == [90, 0, 0, 0]


@pytest.mark.parametrize('first', [CAP, 0])
def test_where_reservations_occupy_every_pcpu_the_fullest_one_decides(book, first):
    kernel = fake_hcbs.FakeMaxKernel(PCPUS)
    found = detect.detect(kernel, kernel.count)
    machine = container_host.ContainerHost(found, shares.HostShares.empty(
        [first] + [CAP] * (kernel.count - 1), found.occupancy), book=book)
    run(kernel, machine, 7, holding(30, 0))
    run(kernel, machine, 8, holding(20, 1))
    lent = machine.lend(7, ALL, soon())
    assert in_percent(lent.values()) == [40] * PCPUS


def test_a_host_that_offers_nothing_lends_nothing():
    nothing = container_host.ContainerHost(None, shares.HostShares.empty((0,) * PCPUS))
    with pytest.raises(host.UnavailableError):
        nothing.lend(7, ALL, soon())
