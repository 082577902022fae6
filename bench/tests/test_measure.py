# SPDX-License-Identifier: Apache-2.0
"""The benchmark's own arithmetic."""

import pytest

from bench import measure


class Clock:
    """A clock that actions move on, and nothing else."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def taking(self, *seconds):
        """Return an action that takes these seconds, one after the other."""
        left = list(seconds)

        def action():
            self.now += left.pop(0)
        return action


def test_a_ratio_is_taken_within_each_round():
    measurement = measure.compared(
        'ours', 'theirs', [1.0, 10.0, 3.0], [2.0, 10.0, 2.0], 'ms', 1000)
    assert measurement.ratio == measure.Spread(1.0, 0.5, 1.5)
    assert measurement.ours == measure.Spread(3000, 1000, 10000)
    assert measurement.theirs == measure.Spread(2000, 2000, 10000)


def test_each_runs_once_unmeasured_before_the_rounds():
    clock = Clock()
    seconds = measure.in_turn(
        {'one': clock.taking(9, 1, 2), 'other': clock.taking(8, 3, 4)},
        rounds=2, clock=clock)
    assert seconds == {'one': [1, 2], 'other': [3, 4]}


def test_what_is_done_before_an_action_is_not_measured():
    clock = Clock()
    seconds = measure.in_turn(
        {'one': clock.taking(9, 1)}, rounds=1, clock=clock,
        before={'one': clock.taking(50, 60)})
    assert seconds == {'one': [1]}


def test_the_order_changes_from_round_to_round():
    order = []
    measure.in_turn({'one': lambda: order.append('one'),
                     'other': lambda: order.append('other')}, rounds=2)
    assert order == ['one', 'other', 'other', 'one', 'one', 'other']


def test_an_action_is_repeated_as_often_as_said():
    clock = Clock()
    measure.repeated(clock.taking(1, 2, 3), 3)()
    assert clock.now == pytest.approx(6)
