# SPDX-License-Identifier: Apache-2.0

from hypothesis import given

from nova_rt.defrag import search
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Move
from nova_rt.tests.unit.defrag import hosts


def test_a_goal_that_is_met_takes_no_move():
    assert search.find(hosts.layout((20,), {}), Goal(20, 1), 5) == ()


def test_what_is_in_the_way_goes_where_it_fits_most_tightly():
    start = hosts.layout((20, 20, 20), {'a': (8, (0,)), 'b': (12, (1,)), 'c': (11, (2,))})
    assert search.find(start, Goal(20, 1), 5) == (Move('a', 0, 1, 8),)


def test_a_server_keeps_its_vcpus_on_distinct_pcpus():
    # The tightest has a vCPU of it already.
    start = hosts.layout((20, 20, 20), {'a': (8, (0, 1)), 'b': (4, (1,)), 'c': (10, (2,))})
    assert search.find(start, Goal(20, 1), 5) == (Move('a', 0, 2, 8),)


def test_the_smallest_that_suffices_goes():
    start = hosts.layout((20, 20), {'a': (6, (0,)), 'b': (3, (0,)), 'c': (10, (1,))})
    assert search.find(start, Goal(13, 1), 5) == (Move('b', 0, 1, 3),)


def test_another_first_makes_room_for_what_is_in_the_way():
    start = hosts.layout((20, 20, 20), {
        'a': (10, (0,)), 'b': (6, (1,)), 'c': (9, (1,)), 'd': (13, (2,))})
    moves = search.find(start, Goal(20, 1), 5)
    assert moves == (Move('b', 1, 2, 6), Move('a', 0, 1, 10))


def test_two_that_could_only_swap_stay():
    start = hosts.layout((20, 20), {'a': (12, (0,)), 'b': (11, (1,)), 'c': (8, (0,)),
                                    'd': (7, (1,))})
    assert search.find(start, Goal(3, 1), 5) is None


def test_room_that_the_reservation_needs_is_not_given_away():
    # Two pCPUs are needed: one is free, and must stay so.
    start = hosts.layout((20, 20, 20), {'a': (4, (0,)), 'c': (15, (2,))})
    assert search.find(start, Goal(17, 2), 5) == (Move('a', 0, 2, 4),)


def test_no_more_moves_are_made_than_are_allowed():
    start = hosts.layout((20, 20, 20, 20), {
        'a': (4, (0,)), 'b': (4, (1,)), 'c': (14, (2,)), 'd': (14, (3,))})
    assert search.find(start, Goal(20, 2), 1) is None
    assert len(search.find(start, Goal(20, 2), 2)) == 2


def test_it_gives_up_after_some_steps():
    start = hosts.layout((20, 20, 20), {'a': (8, (0,)), 'b': (12, (1,)), 'c': (11, (2,))})
    assert search.find(start, Goal(20, 1), 5, steps=0) is None


@given(hosts.tight())
def test_every_plan_can_be_made_and_meets_its_goal(case):
    start, goal = case
    moves = search.find(start, goal, 4)
    if moves is not None:
        assert len(moves) <= 4
        hosts.check(start, goal, moves)


@given(hosts.tight())
def test_one_move_is_found_wherever_there_is_one(case):
    start, goal = case
    if hosts.true_fewest(start, goal, 1) == 1:
        assert len(search.find(start, goal, 1)) == 1


@given(hosts.tight())
def test_the_same_host_gives_the_same_plan(case):
    start, goal = case
    assert search.find(start, goal, 4) == search.find(start, goal, 4)
