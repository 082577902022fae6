# SPDX-License-Identifier: Apache-2.0
"""The pCPU to which a server is moved that can be lent nothing where it is."""

import hypothesis
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.reaction import better_pcpu

CAP = bandwidth.fraction_to_bandwidth(0.9)
HALF = bandwidth.fraction_to_bandwidth(0.5)


def percent(number):
    return bandwidth.to_bandwidth(number, 100)


def host(*used, capacity=None):
    made = shares.HostShares.empty(capacity or [CAP] * len(used))
    for pcpu, each in enumerate(used):
        if each:
            made = made.add_all([(percent(each), (pcpu,))])
    return made


def holding(percents, *pcpus):
    return ledger.Holding(reservation.Reservation(percents * 1000, 100_000, len(pcpus)), pcpus)


@pytest.mark.parametrize(('used', 'held', 'move'), [
    # The emptiest, the first of several.
    ((90, 50, 20, 20), holding(30, 0), (0, 2)),
    # From where least is free.
    ((80, 90, 0), holding(30, 0, 1), (1, 2)),
    # Where it would have no more than now, it stays.
    ((59, 30), holding(30, 0), None),
    ((60, 29), holding(30, 0), (0, 1)),
    # Nor does it go where it does not fit.
    ((90, 70), holding(30, 0), None),
    # It has a vCPU on each.
    ((90, 90), holding(30, 0, 1), None),
])
def test_the_pcpu_where_most_can_be_lent_is_better(used, held, move):
    assert better_pcpu.find(host(*used), held, CAP) == move


def test_more_than_can_be_lent_is_no_better():
    # 60% are free here; 90 there, of which it would take 30.
    assert better_pcpu.find(host(30, 0, capacity=[CAP, CAP]), holding(30, 0), HALF) is None
    assert better_pcpu.find(host(50, 0), holding(30, 0), HALF) == (0, 1)


def test_a_pcpu_that_holds_no_reservations_is_none():
    assert better_pcpu.find(host(90, 0, capacity=[CAP, 0]), holding(30, 0), HALF) is None


def test_what_it_has_on_loan_is_not_given_away_for_less():
    lent = {0: bandwidth.to_bandwidth(50, 100)}
    assert better_pcpu.find(host(90, 20), holding(30, 0), CAP) == (0, 1)
    assert better_pcpu.find(host(90, 20), holding(30, 0), CAP, lent) is None
    assert better_pcpu.find(host(90, 5), holding(30, 0), CAP, lent) == (0, 1)
    # It leaves the pCPU where it has least.
    assert better_pcpu.find(host(90, 80, 0), holding(30, 0, 1), CAP, lent) == (1, 2)


@hypothesis.given(st.data())
def test_a_move_fits_and_leaves_more_to_be_lent(data):
    pcpus = data.draw(st.integers(1, 6))
    own = data.draw(st.integers(1, 60))
    places = sorted(data.draw(st.sets(st.integers(0, pcpus - 1), min_size=1)))
    used = [data.draw(st.integers(own if pcpu in places else 0, 90)) for pcpu in range(pcpus)]
    most = data.draw(st.integers(1, CAP))
    before, held = host(*used), holding(own, *places)
    found = better_pcpu.find(before, held, most)
    lendable = {pcpu: min(most, before.left[pcpu] - (0 if pcpu in places
                                                     else held.reservation.bandwidth))
                for pcpu in range(pcpus)}
    worst = min(lendable[pcpu] for pcpu in places)
    others = [lendable[pcpu] for pcpu in range(pcpus) if pcpu not in places]
    if found is None:
        assert max(others, default=0) <= worst
    else:
        source, target = found
        assert source in places
        assert lendable[source] == worst
        assert target not in places
        assert before.left[target] >= held.reservation.bandwidth
        assert lendable[target] == max(others) > worst
