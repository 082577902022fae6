# SPDX-License-Identifier: Apache-2.0
import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import audit
from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares

HALF = bandwidth.BW_UNIT // 2
EMPTY = shares.HostShares.empty([bandwidth.BW_UNIT] * 4)
WANTED = reservation.Reservation(50_000, 100_000, 2)
HOLDING = ledger.Holding(WANTED, (0, 1))
SERVER = audit.Server('web', WANTED, (HOLDING,), runs=HOLDING,
                      promises={'web': 2 * HALF})
KERNEL = audit.Kernel({'web': (HALF, HALF, 0, 0)})
TOLD = EMPTY.add(WANTED, (0, 1))
PLACEMENT = audit.Placement(4 * bandwidth.BW_UNIT, {'web': 2 * HALF})


def drifts(servers=(SERVER,), kernel=KERNEL, told=TOLD, placement=PLACEMENT,
           empty=EMPTY):
    return audit.compare(empty, servers, kernel, told, placement)


def the_only(found, kind):
    (drift,) = found
    assert drift.kind is kind
    assert drift.sentence[0].isupper()
    assert drift.sentence.endswith('.')
    return drift


def changed(**values):
    return [dataclasses.replace(SERVER, **values)]


def test_when_all_say_the_same_nothing_differs():
    assert drifts() == []


def test_a_host_that_offers_nothing_is_not_asked_for_its_kernel():
    nothing = shares.HostShares.empty((0,) * 4)
    assert drifts([], None, nothing, audit.Placement(0, {}), nothing) == []


def test_a_container_with_less_than_its_reservation():
    drift = the_only(drifts(kernel=audit.Kernel({'web': (HALF, 0, 0, 0)})),
                     audit.Kind.KERNEL_LACKS)
    assert '0% of pCPU 1, but its reservation is 50%' in drift.sentence
    assert drift.remedy


def test_a_container_with_more_keeps_it():
    drift = the_only(
        drifts(kernel=audit.Kernel({'web': (HALF, 2 * HALF, 0, 0)})),
        audit.Kind.KERNEL_EXCEEDS)
    assert drift.remedy == ''


def test_a_container_with_more_here_and_less_there_is_given_what_lacks():
    the_only(drifts(kernel=audit.Kernel({'web': (0, HALF, HALF, 0)})),
             audit.Kind.KERNEL_LACKS)


def test_a_server_that_should_run_and_does_not():
    drift = the_only(drifts(kernel=audit.Kernel({})), audit.Kind.KERNEL_LACKS)
    assert 'no container' in drift.sentence


def test_a_stopped_server_needs_no_container():
    assert drifts(changed(runs=None), audit.Kernel({})) == []


def test_a_container_that_nova_does_not_know():
    kernel = audit.Kernel({**KERNEL.containers, 'lost': (HALF, 0, 0, 0)})
    drift = the_only(drifts(kernel=kernel), audit.Kind.KERNEL_STRANGER)
    assert (drift.subject, drift.remedy) == ('lost', '')


def test_a_container_without_a_budget_is_nobodys_business():
    kernel = audit.Kernel({**KERNEL.containers, 'plain': (0, 0, 0, 0)})
    assert drifts(kernel=kernel) == []


def test_a_group_that_is_no_container():
    kernel = dataclasses.replace(
        KERNEL, others={'machine/x': (0, 0, 0, HALF)})
    drift = the_only(drifts(kernel=kernel), audit.Kind.KERNEL_STRANGER)
    assert drift.subject == '/machine/x'


def test_what_the_groups_above_keep():
    kernel = dataclasses.replace(KERNEL, kept=(0, 0, HALF, 0))
    assert the_only(drifts(kernel=kernel), audit.Kind.KERNEL_KEEPS).remedy


@pytest.mark.parametrize('told', [None, EMPTY, shares.HostShares.empty([1])])
def test_a_ledger_that_is_not_what_the_servers_hold(told):
    drift = the_only(drifts(told=told), audit.Kind.LEDGER_DIFFERS)
    assert '50% of pCPU 0, 50% of pCPU 1' in drift.sentence


def test_a_move_within_the_host_holds_twice():
    other = ledger.Holding(WANTED, (2, 3))
    moving = changed(holdings=(HOLDING, other),
                     promises={'web': 2 * HALF, 'move': 2 * HALF})
    placement = audit.Placement(
        4 * bandwidth.BW_UNIT, {'web': 2 * HALF, 'move': 2 * HALF})
    assert drifts(moving, told=TOLD.add(WANTED, (2, 3)),
                  placement=placement) == []


@pytest.mark.parametrize(('has', 'kind'), [
    ({}, audit.Kind.PLACEMENT_LACKS),
    ({'web': HALF}, audit.Kind.PLACEMENT_LACKS),
    ({'web': 3 * HALF}, audit.Kind.PLACEMENT_EXCEEDS)])
def test_a_promise_that_is_not_the_reservation(has, kind):
    placement = audit.Placement(4 * bandwidth.BW_UNIT, has)
    drift = the_only(drifts(placement=placement), kind)
    assert 'its reservation is 100% of a CPU' in drift.sentence


def test_a_promise_to_a_server_without_a_reservation():
    plain = audit.Server('plain', promises={'plain': 0})
    placement = audit.Placement(
        4 * bandwidth.BW_UNIT, {'web': 2 * HALF, 'plain': HALF})
    the_only(drifts([SERVER, plain], placement=placement),
             audit.Kind.PLACEMENT_EXCEEDS)


def test_a_promise_that_nova_is_changing_is_not_judged():
    assert drifts(changed(promises=None),
                  placement=audit.Placement(4 * bandwidth.BW_UNIT, {})) == []


def test_promises_to_those_who_have_left_and_to_those_nobody_knows():
    placement = audit.Placement(
        4 * bandwidth.BW_UNIT, {'web': 2 * HALF, 'left': HALF, 'new': HALF},
        frozenset({'left'}), frozenset({'new'}))
    left, new = drifts(placement=placement)
    assert (left.kind, left.subject) == (audit.Kind.PLACEMENT_ORPHAN, 'left')
    assert (new.kind, new.remedy) == (audit.Kind.PLACEMENT_UNKNOWN, '')


@pytest.mark.parametrize('capacity', [None, 3 * bandwidth.BW_UNIT])
def test_an_inventory_that_is_not_what_the_host_offers(capacity):
    placement = audit.Placement(capacity, {'web': 2 * HALF})
    the_only(drifts(placement=placement), audit.Kind.INVENTORY_DIFFERS)


def test_a_server_without_a_claim():
    lost = changed(holdings=(), runs=None, misses_claim=True)
    the_only(drifts(lost, audit.Kernel({}), EMPTY), audit.Kind.CLAIM_MISSING)


def test_a_flavor_that_does_not_name_the_share():
    the_only(drifts(changed(flavor_silent=True)), audit.Kind.FLAVOR_SILENT)


def test_where_a_reservation_occupies_every_pcpu_so_does_the_kernel():
    every = shares.HostShares.empty(EMPTY.capacity, shares.Occupancy.EVERY)
    assert drifts(kernel=audit.Kernel({'web': (HALF,) * 4}),
                  told=every.add(WANTED, (0, 1)), empty=every) == []


@given(st.lists(st.tuples(
    st.integers(1, 100), st.sets(st.integers(0, 3), min_size=1))),
    st.sampled_from(shares.Occupancy))
def test_what_is_derived_from_the_servers_never_differs(servers, occupancy):
    empty = shares.HostShares.empty(EMPTY.capacity, occupancy)
    told, nova, containers, promised = empty, [], {}, {}
    for i, (percent, pcpus) in enumerate(servers):
        wanted = reservation.Reservation(percent * 1000, 100_000, len(pcpus))
        holding = ledger.Holding(wanted, tuple(pcpus))
        told = told.add(wanted, pcpus)
        containers[str(i)] = empty.add(wanted, pcpus).used
        promised[str(i)] = wanted.share
        nova.append(audit.Server(str(i), wanted, (holding,), runs=holding,
                                 promises={str(i): wanted.share}))
    assert drifts(nova, audit.Kernel(containers), told, audit.Placement(
        empty.rt_share, promised), empty) == []
