# SPDX-License-Identifier: Apache-2.0
"""Equations (4) and (5), Algorithm 2 and Figure 5 of RT-Kube."""

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt import ranking
from nova_rt import reservation
from nova_rt import shares
from nova_rt.criticality import Criticality

A, B, C = Criticality
CURVE = ranking.Curve()
LEFT = st.floats(0, 1)


def host(*percent, occupancy=shares.Occupancy.CHOSEN):
    used = tuple(bandwidth.to_bandwidth(each, 100) for each in percent)
    return shares.HostShares((bandwidth.BW_UNIT,) * len(used), used, used, occupancy)


@pytest.mark.parametrize(('left', 'rank'), [
    (0, 0.9), (0.25, 0.95), (0.5, 1), (0.75, 0.3958), (1, 0)])
def test_the_curve_of_figure_5(left, rank):
    assert CURVE.at(left) == pytest.approx(rank, abs=1e-4)


@given(LEFT)
def test_b_likes_no_host_better_than_one_that_it_leaves_half(left):
    assert ranking.rank(B, left, CURVE) <= ranking.rank(B, 0.5, CURVE) + 1e-9


@given(LEFT, LEFT)
def test_a_packs_and_c_spreads(one, other):
    one, other = sorted((one, other))
    assert ranking.rank(A, one, CURVE) >= ranking.rank(A, other, CURVE)
    assert ranking.rank(C, one, CURVE) <= ranking.rank(C, other, CURVE)
    assert ranking.rank(A, one, CURVE) == pytest.approx(1 - ranking.rank(C, one, CURVE))


def test_the_fraction_left_is_of_the_whole_host_with_the_server_on_it():
    wanted = reservation.Reservation(25_000, 100_000, 2)
    assert ranking.fraction_left(host(50, 50, 0, 0), wanted) == pytest.approx(0.625)
    assert ranking.fraction_left(host(100, 100), wanted) < 0


def test_where_reservations_occupy_every_pcpu_the_server_takes_as_much_of_each():
    wanted = reservation.Reservation(25_000, 100_000, 1)
    assert ranking.fraction_left(
        host(50, 50, 50, 50, occupancy=shares.Occupancy.EVERY), wanted) == pytest.approx(0.25)


def test_other_coefficients_make_b_like_c_or_a():
    # The paper: K to 0 and a falling g is near C; K to 1 and a rising h is near A, which
    # ranks by load, the other way round.
    like_c = ranking.Curve(0.0, (0.0, 0.0), (0.0, 1.0, 0.0))
    assert ranking.rank(B, 0.7, like_c) == ranking.rank(C, 0.7, CURVE)
    like_a = ranking.Curve(1.0, (-1.0, 1.0))
    assert ranking.rank(B, 0.7, like_a) == pytest.approx(ranking.rank(A, 0.7, CURVE))
