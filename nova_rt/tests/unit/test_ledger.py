# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares

EMPTY = shares.HostShares.empty([bandwidth.BW_UNIT] * 4)


def holding(*pcpus, runtime_us=50_000):
    return ledger.Holding(
        reservation.Reservation(runtime_us, 100_000, len(pcpus)), pcpus)


def test_a_server_entered_twice_counts_once():
    book = ledger.Ledger()
    book.enter('a', 'server', holding(0, 1))
    book.enter('a', 'server', holding(0, 1))
    assert book.shares(EMPTY).rt_share_used == bandwidth.BW_UNIT


def test_a_server_that_is_moved_within_the_host_counts_on_both_sides():
    book = ledger.Ledger()
    book.enter('a', 'server', holding(0))
    book.enter('a', 'move', holding(1))
    assert len(book) == 2
    assert book.shares(EMPTY).used[:2] == (bandwidth.BW_UNIT // 2,) * 2


def test_what_is_taken_away_in_one_role_is_held_in_the_other():
    book = ledger.Ledger()
    book.enter('a', 'server', holding(0))
    book.enter('a', 'move', holding(1))
    book.enter('a', 'server', None)
    assert book.shares(EMPTY).used == (0, bandwidth.BW_UNIT // 2, 0, 0)


def test_a_host_with_one_runtime_for_all_is_occupied_everywhere():
    book = ledger.Ledger()
    book.enter('a', 'server', holding(2))
    host = book.shares(shares.HostShares.empty(
        [bandwidth.BW_UNIT] * 4, shares.Occupancy.EVERY))
    assert host.used == (bandwidth.BW_UNIT // 2,) * 4
    assert host.pinned == (0, 0, bandwidth.BW_UNIT // 2, 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from('sm'),
                          st.sets(st.integers(0, 3), min_size=1))))
def test_a_ledger_is_empty_after_everything_entered_was_taken_away(entries):
    book = ledger.Ledger()
    for server, role, pcpus in entries:
        book.enter(str(server), role, holding(*pcpus))
    for server, role, _ in entries:
        book.enter(str(server), role, None)
    assert len(book) == 0
    assert book.shares(EMPTY) == EMPTY


@given(st.sets(st.integers(0, 1000), max_size=64))
def test_a_mask_tells_the_pcpus_it_was_made_of(pcpus):
    mask = ledger.to_mask(pcpus)
    assert ledger.from_mask(mask) == tuple(sorted(pcpus))
    assert len(mask) <= 255


def test_a_mask_that_is_none_is_an_error():
    with pytest.raises(ValueError, match='invalid literal'):
        ledger.from_mask('xyz')
