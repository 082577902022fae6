# SPDX-License-Identifier: Apache-2.0
import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt import drifts
from nova_rt import kinds
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares

HALF = bandwidth.BW_UNIT // 2
EMPTY = shares.HostShares.empty([bandwidth.BW_UNIT] * 4)
WANTED = reservation.Reservation(50_000, 100_000, 2)
HOLDING = ledger.Holding(WANTED, (0, 1))
SERVER = drifts.Server('web', WANTED, (HOLDING,), runs=HOLDING,
                      allocations={'web': 2 * HALF})
KERNEL = drifts.Kernel({'web': (HALF, HALF, 0, 0)})
REPORTED = EMPTY.add(WANTED, (0, 1))
PLACEMENT = drifts.Placement(4 * bandwidth.BW_UNIT, {'web': 2 * HALF})


def compared(servers=(SERVER,), kernel=KERNEL, reported=REPORTED,
             placement=PLACEMENT, empty=EMPTY):
    return drifts.compare(empty, servers, kernel, reported, placement)


def the_only(drifts_found, kind):
    (drift,) = drifts_found
    assert drift.kind is kind
    assert drift.sentence[0].isupper()
    assert drift.sentence.endswith('.')
    return drift


def changed(**values):
    return [dataclasses.replace(SERVER, **values)]


def test_when_all_say_the_same_nothing_differs():
    assert compared() == []


def test_a_host_that_offers_nothing_is_not_asked_for_its_kernel():
    nothing = shares.HostShares.empty((0,) * 4)
    assert compared([], None, nothing, drifts.Placement(0, {}), nothing) == []


def test_a_container_with_less_than_its_reservation():
    drift = the_only(compared(kernel=drifts.Kernel({'web': (HALF, 0, 0, 0)})),
                     drifts.Kind.KERNEL_LACKS)
    assert '0% of pCPU 1, but its reservation is 50%' in drift.sentence
    assert drift.remedy


def test_a_container_with_more_keeps_it():
    drift = the_only(
        compared(kernel=drifts.Kernel({'web': (HALF, 2 * HALF, 0, 0)})),
        drifts.Kind.KERNEL_EXCEEDS)
    assert drift.remedy == ''


def test_a_container_with_more_here_and_less_there_is_given_what_lacks():
    the_only(compared(kernel=drifts.Kernel({'web': (0, HALF, HALF, 0)})),
             drifts.Kind.KERNEL_LACKS)


def test_a_server_that_should_run_and_does_not():
    drift = the_only(compared(kernel=drifts.Kernel({})), drifts.Kind.KERNEL_LACKS)
    assert 'no container' in drift.sentence


def test_a_stopped_server_needs_no_container():
    assert compared(changed(runs=None), drifts.Kernel({})) == []


def test_a_container_that_nova_does_not_know():
    kernel = drifts.Kernel({**KERNEL.containers, 'lost': (HALF, 0, 0, 0)})
    drift = the_only(compared(kernel=kernel), drifts.Kind.KERNEL_STRANGER)
    assert (drift.subject, drift.remedy) == ('lost', '')


def test_a_container_without_a_budget_is_nobodys_business():
    kernel = drifts.Kernel({**KERNEL.containers, 'plain': (0, 0, 0, 0)})
    assert compared(kernel=kernel) == []


def test_a_group_that_is_no_container():
    kernel = dataclasses.replace(
        KERNEL, others={'machine/x': (0, 0, 0, HALF)})
    drift = the_only(compared(kernel=kernel), drifts.Kind.KERNEL_STRANGER)
    assert drift.subject == '/machine/x'


def test_what_the_groups_above_keep():
    kernel = dataclasses.replace(KERNEL, kept=(0, 0, HALF, 0))
    assert the_only(compared(kernel=kernel), drifts.Kind.KERNEL_KEEPS).remedy


@pytest.mark.parametrize('reported', [None, EMPTY, shares.HostShares.empty([1])])
def test_a_ledger_that_is_not_what_the_servers_hold(reported):
    drift = the_only(compared(reported=reported), drifts.Kind.LEDGER_DIFFERS)
    assert '50% of pCPU 0, 50% of pCPU 1' in drift.sentence


def test_a_move_within_the_host_holds_twice():
    other = ledger.Holding(WANTED, (2, 3))
    moving = changed(holdings=(HOLDING, other),
                     allocations={'web': 2 * HALF, 'move': 2 * HALF})
    placement = drifts.Placement(
        4 * bandwidth.BW_UNIT, {'web': 2 * HALF, 'move': 2 * HALF})
    assert compared(moving, reported=REPORTED.add(WANTED, (2, 3)),
                  placement=placement) == []


@pytest.mark.parametrize(('has', 'kind'), [
    ({}, drifts.Kind.PLACEMENT_LACKS),
    ({'web': HALF}, drifts.Kind.PLACEMENT_LACKS),
    ({'web': 3 * HALF}, drifts.Kind.PLACEMENT_EXCEEDS)])
def test_an_allocation_that_is_not_the_reservation(has, kind):
    placement = drifts.Placement(4 * bandwidth.BW_UNIT, has)
    drift = the_only(compared(placement=placement), kind)
    assert 'its reservation is 100% of a CPU' in drift.sentence


def test_an_allocation_of_a_server_without_a_reservation():
    plain = drifts.Server('plain', allocations={'plain': 0})
    placement = drifts.Placement(
        4 * bandwidth.BW_UNIT, {'web': 2 * HALF, 'plain': HALF})
    the_only(compared([SERVER, plain], placement=placement),
             drifts.Kind.PLACEMENT_EXCEEDS)


def test_what_takes_back_comes_before_what_gives():
    servers = [SERVER, drifts.Server('plain', allocations={'plain': 0})]
    placement = drifts.Placement(
        4 * bandwidth.BW_UNIT, {'plain': HALF, 'left': HALF}, frozenset({'left'}))
    assert [drift.kind for drift in compared(servers, placement=placement)] == [
        drifts.Kind.PLACEMENT_ORPHAN, drifts.Kind.PLACEMENT_EXCEEDS,
        drifts.Kind.PLACEMENT_LACKS]


def test_an_allocation_that_nova_is_changing_is_not_judged():
    assert compared(changed(allocations=None),
                  placement=drifts.Placement(4 * bandwidth.BW_UNIT, {})) == []


def test_allocations_of_consumers_that_left_and_of_unknown_ones():
    placement = drifts.Placement(
        4 * bandwidth.BW_UNIT, {'web': 2 * HALF, 'left': HALF, 'new': HALF},
        frozenset({'left'}), frozenset({'new'}))
    left, new = compared(placement=placement)
    assert (left.kind, left.subject) == (drifts.Kind.PLACEMENT_ORPHAN, 'left')
    assert (new.kind, new.remedy) == (drifts.Kind.PLACEMENT_UNKNOWN, '')


@pytest.mark.parametrize('capacity', [None, 3 * bandwidth.BW_UNIT])
def test_an_inventory_that_is_not_what_the_host_offers(capacity):
    placement = drifts.Placement(capacity, {'web': 2 * HALF})
    the_only(compared(placement=placement), drifts.Kind.INVENTORY_DIFFERS)


def test_a_server_without_a_claim():
    lost = changed(holdings=(), runs=None, lacks_claim=True)
    the_only(compared(lost, drifts.Kernel({}), EMPTY), drifts.Kind.CLAIM_MISSING)


def test_a_flavor_that_does_not_name_the_share():
    the_only(compared(changed(flavor_silent=True)), drifts.Kind.FLAVOR_SILENT)


def test_where_a_reservation_occupies_every_pcpu_so_does_the_kernel():
    every = shares.HostShares.empty(EMPTY.capacity, shares.Occupancy.EVERY)
    assert compared(kernel=drifts.Kernel({'web': (HALF,) * 4}),
                  reported=every.add(WANTED, (0, 1)), empty=every) == []


@given(st.lists(st.tuples(
    st.integers(1, 100), st.sets(st.integers(0, 3), min_size=1))),
    st.sampled_from(shares.Occupancy))
def test_what_is_derived_from_the_servers_never_differs(servers, occupancy):
    empty = shares.HostShares.empty(EMPTY.capacity, occupancy)
    reported, nova, containers, allocated = empty, [], {}, {}
    for i, (percent, pcpus) in enumerate(servers):
        wanted = reservation.Reservation(percent * 1000, 100_000, len(pcpus))
        holding = ledger.Holding(wanted, tuple(pcpus))
        reported = reported.add(wanted, pcpus)
        containers[str(i)] = empty.add(wanted, pcpus).used
        allocated[str(i)] = wanted.share
        nova.append(drifts.Server(str(i), wanted, (holding,), runs=holding,
                                 allocations={str(i): wanted.share}))
    assert compared(nova, drifts.Kernel(containers), reported, drifts.Placement(
        empty.rt_share, allocated), empty) == []


@pytest.mark.parametrize('kind', kinds.Kind)
@pytest.mark.parametrize('has', [
    {}, {'web': (HALF, 0, 0, 0)}, {'web': (HALF, 2 * HALF, 0, 0)},
    {**KERNEL.containers, 'lost': (HALF, 0, 0, 0)}])
def test_sentences_name_the_kind_that_the_host_runs(kind, has):
    (drift,) = compared(kernel=drifts.Kernel(has, kind=kind))
    (other,) = set(kinds.Kind) - {kind}
    assert kind.value in drift.sentence
    assert other.value not in drift.sentence
