# SPDX-License-Identifier: Apache-2.0
import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import kinds
from nova_rt import reservation
from nova_rt import shares
from nova_rt import shortfalls
from nova_rt import units

WANTED = reservation.Reservation(50_000, 100_000, 2)
NEEDS = {'VCPU': 2, 'CUSTOM_RT_SHARE': WANTED.share}
PLENTY = {'VCPU': 8, 'CUSTOM_RT_SHARE': 4 << 20}
CAPACITY = (bandwidth.BW_UNIT,) * 4


def filled(*percents, capacity=CAPACITY):
    host = shares.HostShares.empty(capacity)
    return host.add_all((percent * bandwidth.BW_UNIT // 100, [pcpu])
                        for pcpu, percent in enumerate(percents))


def explained(reported=None, left=PLENTY, trouble='', wanted=WANTED, needs=NEEDS,
              asked=None, has=(), refusals=()):
    return list(shortfalls.explain(
        [shortfalls.Host('host1', trouble, reported, left, traits=has, refusals=refusals)],
        shortfalls.Request(wanted, needs, traits=asked or {})))


def test_a_host_with_room_fits():
    (fits,) = explained(filled())
    assert (fits.what, fits.sentence) == ('', 'The server fits now.')


def test_each_pcpu_tells_what_it_lacks_equal_ones_together():
    whole, *pcpus, _ = explained(filled(60, 60, 20, 90))
    assert '1 of 4 have that much left' in whole.sentence
    assert [(shortfall.what, shortfall.left, shortfall.missing) for shortfall in pcpus] == [
        ('pCPU 0-1', '40%', '10%'), ('pCPU 3', '10%', '40%')]


def test_a_host_that_is_not_for_the_server_is_no_better_with_less_bandwidth():
    zone, *others = explained(filled(60, 60, 20, 90),
                              refusals=[('zone', 'Not this one.')])
    assert (zone.what, zone.sentence) == ('zone', 'Not this one.')
    assert 'nearest' not in [shortfall.what for shortfall in others]


def test_what_placement_lacks_is_told_by_resource_class():
    cpus, share = explained(filled(), {'VCPU': 1, 'CUSTOM_RT_SHARE': 1 << 19})[
        ::-1]
    assert (cpus.what, cpus.missing) == ('VCPU', '1')
    assert (share.what, share.missing) == ('CUSTOM_RT_SHARE', '50%')


def test_a_host_without_reservations_is_not_asked_for_its_share():
    (finding,) = explained(None, {'VCPU': 8})
    assert finding.sentence == 'The host offers no CPU reservations.'


def test_a_service_that_is_down_is_told_first():
    down, *_ = explained(filled(90, 90, 90, 90), trouble='It is down.')
    assert down.sentence == 'It is down.'


def test_a_server_without_a_reservation_is_explained_too():
    (finding,) = explained(None, {'VCPU': 1}, wanted=None, needs={'VCPU': 2})
    assert finding.what == 'VCPU'


def test_a_trait_that_is_missing_or_must_not_be_there_is_told():
    asked = {'CUSTOM_FAST': 'required', 'CUSTOM_OLD': 'forbidden', 'CUSTOM_BIG': 'required'}
    lacks, has = explained(filled(), asked=asked, has={'CUSTOM_OLD', 'CUSTOM_BIG'})
    assert (lacks.what, lacks.needed) == ('trait', 'CUSTOM_FAST')
    assert has.sentence == 'The host has the trait CUSTOM_OLD, which is forbidden.'
    (fits,) = explained(filled(), asked=asked, has={'CUSTOM_FAST', 'CUSTOM_BIG'})
    assert fits.what == ''
    assert 'nearest' not in {shortfall.what for shortfall in explained(
        filled(60, 60, 20, 90), asked=asked)}


def test_what_would_fit_instead_is_told_where_only_bandwidth_lacks():
    assert explained(filled(60, 60, 20, 90))[-1].sentence == (
        'With a runtime of 40000 µs every 100000 µs it would fit.')
    assert 'nearest' not in {shortfall.what for shortfall in explained(
        filled(60, 60, 20, 90), {'VCPU': 1, 'CUSTOM_RT_SHARE': 4 << 20})}
    assert 'nearest' not in {shortfall.what for shortfall in explained(
        filled(60, 60, 20, 90), trouble='It is down.')}


@pytest.mark.parametrize(('expected', 'changes'), [
    (True, {}), (False, {'trouble': 'It is down.'}), (False, {'reported': None}),
    (False, {'reported': filled()}), (False, {'refusals': [('zone', 'Not this one.')]}),
    (False, {'left': {'VCPU': 1, 'CUSTOM_RT_SHARE': 4 << 20}}),
    (False, {'left': {'VCPU': 8, 'CUSTOM_RT_SHARE': 1 << 19}}),
    (False, {'reported': filled(60, capacity=(bandwidth.BW_UNIT, 0, 0, 0))}),
    (False, {'kind': kinds.Kind.MACHINE})])
def test_moves_may_help_a_host_that_lacks_only_bandwidth_in_one_piece(expected, changes):
    host = dataclasses.replace(
        shortfalls.Host('host1', '', filled(60, 60, 20, 90), PLENTY), **changes)
    request = shortfalls.Request(
        WANTED, NEEDS, kind=kinds.Choice(kinds.Kind.CONTAINER, 'so it is'))
    assert shortfalls.in_pieces(host, request) == expected
    assert not shortfalls.in_pieces(host, dataclasses.replace(request, wanted=None))


def test_what_placement_has_left_bounds_what_would_fit():
    assert explained(filled(), {'VCPU': 8, 'CUSTOM_RT_SHARE': 1 << 19})[-1].sentence == (
        'With a runtime of 25000 µs every 100000 µs it would fit.')


@given(st.lists(st.integers(0, 100), min_size=4, max_size=4), st.integers(1, 5),
       st.integers(100, 1 << 22), st.integers(0, 4 << 20))
def test_a_longer_runtime_than_the_nearest_does_not_fit(percents, vcpus, period_us, share):
    host = filled(*percents)
    wanted = reservation.Reservation(period_us, period_us, vcpus)

    def fits(runtime_us):
        smaller = dataclasses.replace(wanted, runtime_us=runtime_us)
        return fitting.shortfall(host, smaller) is None and smaller.share <= share

    runtime_us = fitting.longest_runtime(host, wanted, share)
    least = max(bandwidth.MIN_RUNTIME_US, -(-period_us // bandwidth.BW_UNIT))
    assert not runtime_us or fits(runtime_us)
    if max(runtime_us + 1, least) <= period_us:
        assert not fits(max(runtime_us + 1, least))


def test_pcpus_that_hold_no_reservations_are_left_out():
    reported = filled(60, capacity=(bandwidth.BW_UNIT, 0, 0, 0))
    whole, pcpu = explained(reported)  # no runtime would fit
    assert '2 distinct pCPUs are needed' in whole.sentence
    assert pcpu.what == 'pCPU 0'


@given(st.lists(st.integers(0, 100), min_size=4, max_size=4))
def test_a_host_fits_exactly_if_the_policy_finds_pcpus(percents):
    reported = filled(*percents)
    try:
        fitting.place(reported, WANTED)
        fits = True
    except fitting.NoRoomError:
        fits = False
    assert ([shortfall.sentence for shortfall in explained(reported)]
            == ['The server fits now.']) == fits


def room(reported, left=PLENTY, trouble=''):
    return shortfalls.room(
        shortfalls.Host('host1', trouble, reported, left),
        shortfalls.Request(WANTED, NEEDS))


def test_the_pcpus_limit_how_many_more_fit():
    plenty = {'VCPU': 99, 'CUSTOM_RT_SHARE': 99 << 20}
    assert room(filled(20, 20, 60, 60), plenty) == (
        1, 'The pCPUs have too little bandwidth left for another.')


def test_placement_limits_how_many_more_fit():
    count, why = room(filled(), {'VCPU': 5, 'CUSTOM_RT_SHARE': 9 << 20})
    assert (count, why) == (2, 'VCPU: Placement has too little left to allocate.')


def test_nothing_fits_where_something_is_missing():
    assert room(filled(), trouble='It is down.') == (0, 'It is down.')
    assert room(filled(), {'VCPU': 1}) == (
        0, 'CUSTOM_RT_SHARE: Placement has too little left to allocate.')


CAP = 1 << 20


@pytest.mark.parametrize(('changes', 'waits'), [
    ({}, True), ({'refusals': [('closed', 'x')]}, True), ({'refusals': [('zone', 'x')]}, False),
    ({'left': {'MEMORY_MB': 1, shares.RESOURCE_CLASS: 0}}, False), ({'trouble': 'x'}, False),
    ({'reported': None}, False), ({'kind': kinds.Kind.MACHINE}, False),
    ({'reported': shares.HostShares.empty((CAP,)), 'left': {
        'MEMORY_MB': 64, shares.RESOURCE_CLASS: CAP}}, False),
    ({'reported': shares.HostShares.empty((CAP // 2,))}, False)])
def test_waiting_helps_where_nothing_lacks_but_bandwidth(changes, waits):
    wanted = reservation.Reservation(60_000, 100_000, 1)
    full = shares.HostShares.empty((CAP,)).add(wanted, (0,))
    host = shortfalls.Host('h', '', full, {'MEMORY_MB': 64, shares.RESOURCE_CLASS: 0},
                           kinds.Kind.CONTAINER)
    request = shortfalls.Request(
        wanted, {'MEMORY_MB': 64, shares.RESOURCE_CLASS: wanted.share},
        kind=kinds.Choice(kinds.Kind.CONTAINER, 'it is'))
    assert shortfalls.only_room(dataclasses.replace(host, **changes), request) is waits


@pytest.mark.parametrize(('limits', 'sentence'), [
    (units.Units(1, 1, 1), 'Placement allocates at most 1 at once (max_unit).'),
    (units.Units(4, 16, 1), 'Placement allocates at least 4 at once (min_unit).'),
    (units.Units(1, 16, 4), 'Placement allocates multiples of 4 only (step_size).'),
    (units.Units(1, 2, 1), None), (units.Units(2, 16, 2), None)])
def test_what_placement_never_allocates_at_once_is_told_whatever_is_left(limits, sentence):
    host = shortfalls.Host('host1', '', filled(), PLENTY, units={'VCPU': limits})
    for left, told in ((8, sentence), (0, sentence or 'Placement has too little left to '
                                                      'allocate.')):
        found = shortfalls.of_host(dataclasses.replace(
            host, left={**PLENTY, 'VCPU': left}), shortfalls.Request(WANTED, NEEDS))
        assert [(each.what, each.sentence) for each in found] == (
            [('VCPU', told)] if told else [])


def test_a_server_that_is_too_large_for_placement_does_not_wait_nor_count():
    host = shortfalls.Host('host1', '', filled(60, 60, 60, 60), PLENTY,
                           units={'VCPU': units.Units(1, 1, 1)})
    request = shortfalls.Request(WANTED, NEEDS)
    assert not shortfalls.only_room(host, request)
    assert shortfalls.room(host, request) == (
        0, 'VCPU: Placement allocates at most 1 at once (max_unit).')
    assert 'nearest' not in [each.what for each in shortfalls.of_host(host, request)]
    assert shortfalls.only_room(dataclasses.replace(host, units={}), request)
