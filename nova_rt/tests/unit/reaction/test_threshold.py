# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt.reaction import threshold


def tally(misses, window_s=1.0):
    return threshold.Tally(threshold.Threshold(misses, window_s))


@pytest.mark.parametrize(('heard', 'too_many'), [
    ([(1, 0.0)], [False]),
    ([(3, 0.0)], [True]),
    ([(7, 0.0)], [True]),
    ([(1, 0.0), (1, 0.5), (1, 0.9)], [False, False, True]),
    # What is older than the window no longer counts.
    ([(2, 0.0), (1, 1.0)], [False, False]),
    ([(2, 0.0), (1, 0.99)], [False, True]),
    # It begins anew.
    ([(3, 0.0), (2, 0.1), (1, 0.2)], [True, False, True])])
def test_three_within_a_second(heard, too_many):
    counted = tally(3)
    assert [counted.add(misses, now_s) for misses, now_s in heard] == too_many


@given(st.integers(1, 5), st.lists(st.tuples(st.integers(1, 3), st.floats(0, 3)), max_size=30))
def test_it_is_told_just_when_so_many_are_in_one_window(most, steps):
    counted = tally(most)
    heard, now_s = [], 0.0
    for misses, pause_s in steps:
        now_s += pause_s
        heard = [(count, at) for count, at in heard if at > now_s - 1.0] + [(misses, now_s)]
        expected = sum(count for count, _ in heard) >= most
        assert counted.add(misses, now_s) == expected
        if expected:
            heard = []
        assert counted.count == sum(count for count, _ in heard)
