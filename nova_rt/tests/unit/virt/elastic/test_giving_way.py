# SPDX-License-Identifier: Apache-2.0
"""Elastic containers give way to more critical ones, on the stand-in for the kernel."""

import time

import pytest

from nova_rt import bandwidth
from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import fake_hcbs
from nova_rt.testing.elastic_servers import A
from nova_rt.testing.elastic_servers import B
from nova_rt.testing.elastic_servers import C
from nova_rt.testing.elastic_servers import CAP
from nova_rt.testing.elastic_servers import elastic_40
from nova_rt.testing.elastic_servers import HALF
from nova_rt.testing.elastic_servers import holding
from nova_rt.testing.elastic_servers import NoConfinement
from nova_rt.testing.elastic_servers import on_first
from nova_rt.testing.elastic_servers import PCPUS
from nova_rt.testing.elastic_servers import PERIOD_US
from nova_rt.testing.elastic_servers import reservations
from nova_rt.testing.elastic_servers import soon
from nova_rt.virt import container_host
from nova_rt.virt.cgroup import detect


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
    lowered = container_host.ContainerHost(
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


def test_what_one_had_that_has_just_ended_is_lent_to_nobody_yet(run_two, run, has, lend, kernel):
    run_two()
    run(9, holding(10, 0))
    lend(7)
    kernel.stop(7)
    assert has(8)[0] == 10
    # Of 90%, 30% are given up, and were lent.
    lend(9, bandwidth.fraction_to_bandwidth(0.9))
    assert has(9)[0] == 50


def test_one_that_is_moved_is_not_shrunk_meanwhile(run_two, has, lend, machine):
    run_two()
    machine._confinement = meanwhile = NoConfinement()
    meanwhile.move = lambda *args: lend(7)
    machine.move(8, elastic_40(1))
    assert has(8) == [0, 40, 0, 0]


def test_where_reservations_occupy_every_pcpu_it_is_shrunk_on_every_one(book):
    kernel = fake_hcbs.FakeMaxKernel(PCPUS)
    found = detect.detect(kernel, kernel.count)
    machine = container_host.ContainerHost(found, shares.HostShares.empty(
        [CAP] * kernel.count, found.occupancy), book=book)
    for pid, each in ((7, holding(40, 0, rank=C)), (8, elastic_40(1))):
        kernel.start(pid, f'machine/{pid}')
        machine.apply(pid, each)
    machine.lend(7, HALF, soon(), shrink=True)
    assert [on_first(kernel.bandwidths(f'machine/{pid}')) for pid in (7, 8)] == [80, 10]
    machine.lend(8, HALF, soon(), shrink=True)
    assert len(set(kernel.bandwidths('machine/7'))) == 1
    assert [on_first(kernel.bandwidths(f'machine/{pid}')) for pid in (7, 8)] == [50, 40]


@pytest.fixture
def by_cpuset(book):
    """A kernel that follows cpusets, and its host, which is given containers by their ids."""
    kernel = fake_hcbs.FakeCpusetKernel(PCPUS)

    def start(holdings):
        found = detect.detect(kernel, kernel.count)
        machine = container_host.ContainerHost(found, shares.HostShares.empty(
            [CAP] * kernel.count, found.occupancy), book=book)
        for pid, each in holdings.items():
            kernel.start(pid, f'machine/{pid}')
            kernel.write(f'machine/{pid}', fake_hcbs.CPUS, ','.join(map(str, each.pcpus)))
            machine.apply(pid, each)
        return machine
    return kernel, start


def in_percent(kernel, *pids):
    return [kernel.percents(f'machine/{pid}') for pid in pids]


def test_where_a_runtime_is_one_for_the_cpuset_it_changes_on_all_of_its_pcpus(by_cpuset):
    kernel, start = by_cpuset
    machine = start({7: holding(40, 0, 1, rank=C), 8: elastic_40(1, 2), 9: elastic_40(2, 3)})
    machine.lend(7, HALF, soon(), shrink=True)
    # On pCPU 0 as much was free, but it may have no more there than on pCPU 1.
    assert in_percent(kernel, 7, 8, 9) == [[80, 80, 0, 0], [0, 10, 10, 0], [0, 0, 40, 40]]
    machine.lend(8, HALF, soon(), shrink=True)
    assert in_percent(kernel, 7, 8, 9) == [[50, 50, 0, 0], [0, 40, 40, 0], [0, 0, 40, 40]]


def test_where_a_runtime_is_one_for_the_cpuset_nobody_gives_up_what_is_free(by_cpuset):
    kernel, start = by_cpuset
    machine = start({7: holding(40, 0, 1, rank=C), 8: elastic_40(1),
                     9: holding(10, 0, rank=A, least=1)})
    begun = len(kernel.writes)
    machine.lend(7, bandwidth.fraction_to_bandwidth(0.3), soon(), shrink=True)
    assert in_percent(kernel, 7, 8, 9) == [[70, 70, 0, 0], [0, 20, 0, 0], [10, 0, 0, 0]]
    assert not [write for write in kernel.writes[begun:] if write[0] == 'machine/9']


@pytest.mark.parametrize(('fullest', 'expected'), [
    (holding(40, 1, rank=C), [[50, 50, 0, 0], [0, 40, 0, 0], [40, 0, 0, 0]]),
    (holding(40, 1, rank=B, least=35), [[55, 55, 0, 0], [0, 35, 0, 0], [35, 0, 0, 0]])])
def test_where_a_runtime_is_one_for_the_cpuset_the_fullest_decides_how_much_is_given_up(
        by_cpuset, fullest, expected):
    kernel, start = by_cpuset
    machine = start({7: holding(40, 0, 1, rank=C), 8: fullest, 9: elastic_40(0)})
    begun = len(kernel.writes)
    machine.lend(7, HALF, soon(), shrink=True)
    assert in_percent(kernel, 7, 8, 9) == expected
    shrunk = [write for write in kernel.writes[begun:] if write[0] == 'machine/9']
    assert len(shrunk) == (expected[2][0] < 40)
