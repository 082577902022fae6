# SPDX-License-Identifier: Apache-2.0

import pytest

from nova_rt import ledger
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Move
from nova_rt.defrag.layout import MoveError
from nova_rt.defrag.layout import Server
from nova_rt.reservation import Reservation
from nova_rt.shares import HostShares
from nova_rt.shares import Occupancy
from nova_rt.tests.unit.defrag import hosts

HALF = 1 << 19
START = hosts.layout((20, 20, 0, 20), {'a': (8, (0, 1)), 'b': (15, (3,))})


def test_a_move_takes_the_bandwidth_from_one_pcpu_to_another():
    after = hosts.layout((20, 20), {'a': (8, (0,))}).after(Move('a', 0, 1, 8))
    assert after.left == (20, 12)
    assert after.servers == {'a': Server(8, frozenset({1}))}


@pytest.mark.parametrize(('move', 'sentence'), [
    (Move('c', 0, 1, 8), 'Server c has no vCPU on pCPU 0.'),
    (Move('a', 3, 0, 8), 'Server a has no vCPU on pCPU 3.'),
    (Move('a', 0, 1, 8), 'Server a has a vCPU on pCPU 1 already.'),
    (Move('a', 0, 3, 8), 'pCPU 3 has no room for 0% of server a.'),
    (Move('a', 0, 2, 8), 'pCPU 2 has no room for 0% of server a.'),
    (Move('a', 0, 4, 8), 'pCPU 4 has no room for 0% of server a.'),
    (Move('a', 0, -1, 8), 'pCPU -1 has no room for 0% of server a.'),
    (Move('b', 3, 0, HALF), 'Server b has 0%, not 50%.'),
])
def test_a_move_that_cannot_be_made_is_refused_with_a_sentence(move, sentence):
    with pytest.raises(MoveError) as refused:
        START.after(move)
    assert str(refused.value) == sentence


def test_a_layout_is_what_the_host_holds_and_which_of_it_may_move():
    half, tenth = Reservation(50, 100, 1), Reservation(10, 100, 1)
    host = HostShares.empty((HALF, HALF)).add(half, (0,)).add(tenth, (1,))
    start = Layout.of(host, {'tenth': ledger.Holding(tenth, (1,))})
    assert start.left == (0, HALF - tenth.bandwidth)
    assert start.servers == {'tenth': Server(tenth.bandwidth, frozenset({1}))}


def test_what_is_on_pcpus_that_the_host_no_longer_has_stays():
    tenth = Reservation(10, 100, 2)
    host = HostShares.empty((HALF,)).add(tenth, (0, 7))
    assert Layout.of(host, {'a': ledger.Holding(tenth, (0, 7))}).servers == {}


def test_where_a_reservation_occupies_every_pcpu_moves_are_refused():
    with pytest.raises(MoveError, match='one runtime for all pCPUs'):
        Layout.of(HostShares.empty((HALF,), Occupancy.EVERY), {})
