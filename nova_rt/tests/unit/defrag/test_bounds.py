# SPDX-License-Identifier: Apache-2.0

import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt.defrag import bounds
from nova_rt.defrag.board import Board
from nova_rt.defrag.goal import Goal
from nova_rt.tests.unit.defrag import hosts


def fits(sizes, capacity, count):
    """Whether items fit so many bins, found by trying all."""
    bins = [0] * count
    for choice in itertools.product(range(count), repeat=len(sizes)):
        bins = [0] * count
        for size, chosen in zip(sizes, choice, strict=True):
            bins[chosen] += size
        if max(bins) <= capacity:
            return True
    return False


@given(st.lists(st.integers(1, 10), min_size=1, max_size=6))
def test_items_never_fit_fewer_bins_than_the_bound(sizes):
    bound = bounds.bins(sizes, 10)
    assert bound >= -(-sum(sizes) // 10)
    if bound > 1:
        assert not fits(sizes, 10, bound - 1)


def test_items_over_half_a_bin_need_one_each_and_leave_no_room_for_larger_ones():
    assert bounds.bins([6, 6, 6], 10) == 3
    assert bounds.bins([6, 6, 5], 10) == 3
    assert bounds.bins([6, 6, 4, 4], 10) == 2


@pytest.mark.parametrize(('lack', 'sizes', 'leaving'), [
    (1, [], None), (5, [2, 2], None), (4, [2, 2], 2), (3, [1, 3, 2], 1), (4, [1, 3, 2], 2)])
def test_the_largest_leave_first(lack, sizes, leaving):
    assert bounds.departures(lack, sizes) == leaving


@given(hosts.tight())
def test_no_plan_is_shorter_than_the_bound(case):
    start, goal = case
    fewest, bound = hosts.true_fewest(start, goal, 4), bounds.fewest(Board(start), goal)
    if fewest is not None:
        assert bound is not None
        assert bound <= fewest


def test_a_goal_that_is_met_takes_no_move():
    start = hosts.layout((20, 20), {'a': (8, (0,))})
    assert bounds.fewest(Board(start), Goal(12, 2)) == 0


def test_more_pcpus_than_there_are_take_no_number_of_moves():
    start = hosts.layout((20, 0), {})
    assert bounds.fewest(Board(start), Goal(12, 2)) is None
