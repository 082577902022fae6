# SPDX-License-Identifier: Apache-2.0
"""Who gives up how much: never below the least, never more than is needed."""

import itertools

from hypothesis import assume
from hypothesis import given
from hypothesis import strategies as st

from nova_rt import bandwidth
from nova_rt import reservation
from nova_rt import shares
from nova_rt.conductor import victims
from nova_rt.testing import elastic_servers

CAP = bandwidth.fraction_to_bandwidth(0.95)
PERIOD_US = elastic_servers.PERIOD_US


def room_of(pcpus, *held, occupancy=shares.Occupancy.CHOSEN, left=None):
    """Return a host with these holdings: percent, least percent or None, pCPUs."""
    holdings = {str(number): elastic_servers.holding(percents, *on, least=least)
                for number, (percents, least, on) in enumerate(held)}
    filled = shares.HostShares.empty((CAP,) * pcpus, occupancy).add_all(
        (each.reservation.bandwidth, each.pcpus) for each in holdings.values())
    return victims.Room(filled, filled.rt_share - sum(
        each.reservation.share for each in holdings.values()) if left is None else left, {
        server: each for server, each in holdings.items()
        if each.terms.min_runtime_us is not None})


def wanted(percents, vcpus=1):
    return reservation.Reservation(PERIOD_US * percents // 100, PERIOD_US, vcpus)


def test_one_gives_what_is_needed_and_no_more():
    room = room_of(1, (80, 20, (0,)))
    assert victims.choose(room, wanted(45)) == {'0': PERIOD_US * 50 // 100}


def test_nobody_gives_where_there_is_room():
    assert victims.choose(room_of(1, (20, 10, (0,))), wanted(45)) == {}


def test_the_fewest_give():
    room = room_of(1, (30, 20, (0,)), (30, 20, (0,)), (30, 10, (0,)))
    assert set(victims.choose(room, wanted(20))) == {'2'}


def test_who_is_not_elastic_gives_nothing():
    assert victims.choose(room_of(1, (80, None, (0,)), (10, 5, (0,))), wanted(45)) is None


def test_placement_must_have_the_share_as_well():
    assert victims.choose(room_of(1, (80, 20, (0,)), left=0), wanted(65)) is None


def test_the_cheapest_host_is_taken():
    dear = room_of(1, (80, 20, (0,)))
    cheap = room_of(1, (60, 20, (0,)))
    assert victims.cheapest({
        'a': (dear, victims.choose(dear, wanted(45))),
        'b': (cheap, victims.choose(cheap, wanted(45)))}) == 'b'


SERVERS = st.lists(st.tuples(
    st.integers(15, 45), st.none() | st.integers(1, 30),
    st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True).map(tuple)),
    min_size=1, max_size=5)


@given(SERVERS, st.integers(40, 94), st.integers(1, 3), st.sampled_from(shares.Occupancy))
def test_any_choice_fits_exactly_and_harms_nobody(servers, percents, vcpus, occupancy):
    room = room_of(3, *(
        (much, None if least is None else min(least, much), on) for much, least, on in servers),
        occupancy=occupancy)
    assume(min(room.filled.left) >= 0)
    chosen = victims.choose(room, wanted(percents, vcpus))
    everything = {server: held.terms.min_runtime_us for server, held in room.elastic.items()}
    if chosen is None:
        assert not room.fits(wanted(percents, vcpus), everything)
        return
    assert room.fits(wanted(percents, vcpus), chosen)
    for server, runtime_us in chosen.items():
        held = room.elastic[server]
        assert held.terms.min_runtime_us <= runtime_us < held.reservation.runtime_us
        assert not room.fits(wanted(percents, vcpus), {**chosen, server: runtime_us + 1})


@given(SERVERS, st.integers(40, 94))
def test_no_two_would_do_where_three_are_chosen(servers, percents):
    room = room_of(3, *((much, min(least or much, much), on) for much, least, on in servers))
    assume(min(room.filled.left) >= 0)
    chosen = victims.choose(room, wanted(percents))
    if chosen is not None and len(chosen) > 2:
        for some in itertools.combinations(room.elastic, 2):
            assert not room.fits(wanted(percents), {
                server: room.elastic[server].terms.min_runtime_us for server in some})


