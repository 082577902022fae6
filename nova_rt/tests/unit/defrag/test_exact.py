# SPDX-License-Identifier: Apache-2.0

from hypothesis import example
from hypothesis import given
from hypothesis import settings
import pytest

from nova_rt.defrag import exact
from nova_rt.defrag import search
from nova_rt.defrag.goal import Goal
from nova_rt.tests.unit.defrag import hosts

MOST = 5
# Longer than any of these takes on a busy machine.
SECONDS = 600

# The quick search finds more moves than needed, or none.
CHAIN = (hosts.layout((20, 20, 20), {
    'a': (10, (0,)), 'b': (6, (1,)), 'c': (9, (1,)), 'd': (13, (2,))}), Goal(20, 1))


@settings(max_examples=60)
@given(hosts.tight())
@example(CHAIN)
def test_the_number_of_moves_is_the_true_minimum(case):
    start, goal = case
    answer = exact.find(start, goal, MOST, SECONDS)
    assert answer.proven
    assert answer.least == hosts.true_fewest(start, goal, MOST)
    if answer.moves is not None:
        hosts.check(start, goal, answer.moves)


@settings(max_examples=40)
@given(hosts.tight())
def test_the_solver_finds_it_without_the_quick_search(case):
    start, goal = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, 'find', lambda *args: None)
        answer = exact.find(start, goal, MOST, SECONDS)
    assert answer.proven
    assert answer.least == hosts.true_fewest(start, goal, MOST)
    if answer.moves is not None:
        hosts.check(start, goal, answer.moves)


def test_without_time_what_the_quick_search_found_is_returned():
    start, goal = CHAIN
    answer = exact.find(start, goal, MOST, 0)
    assert answer == exact.Answer(search.find(start, goal, MOST), 1)
    assert not answer.proven
    assert exact.find(start, goal, MOST, SECONDS) == exact.Answer(answer.moves, 2)
