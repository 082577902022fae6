# SPDX-License-Identifier: Apache-2.0
"""When a VNFC gets more, when one waits, and when it is healed."""

import dataclasses
import datetime

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import reservation
from tacker_rt import raising
from tacker_rt.raising import Step

NOW = datetime.datetime(2026, 11, 27, 1, 0, tzinfo=datetime.UTC)
RULES = raising.Rules(percent=25, wait=datetime.timedelta(seconds=300))


def reserved(runtime_us, period_us=100_000):
    return reservation.Reservation(runtime_us, period_us, 2)


SERVER = raising.Server('ACTIVE', False, reserved(30_000), reserved(60_000), None)


def step(**different):
    return raising.next_step(dataclasses.replace(SERVER, **different), RULES, NOW)


def ago(seconds):
    return NOW - datetime.timedelta(seconds=seconds)


def test_it_is_raised_by_a_part_of_what_it_has():
    assert step() == (Step.RAISE, 37_500)


def test_it_is_never_raised_above_its_flavor():
    assert step(has=reserved(59_000)) == (Step.RAISE, 60_000)
    assert step(has=reserved(60_000)) == (Step.HEAL, 0)
    assert step(has=reserved(70_000)) == (Step.HEAL, 0)


def test_a_flavor_of_another_period_limits_the_bandwidth():
    assert step(has=reserved(9_000, 10_000), most=reserved(95_000)) == (Step.RAISE, 9_500)
    assert step(has=reserved(9_500, 10_000), most=reserved(95_000)) == (Step.HEAL, 0)


@pytest.mark.parametrize('lacking', ['has', 'most'])
def test_without_a_reservation_of_server_and_flavor_there_is_nothing_to_raise(lacking):
    assert step(**{lacking: None}) == (Step.HEAL, 0)


def test_one_waits_after_a_step_and_no_longer():
    assert step(asked_at=NOW) == (Step.WAIT, 0)
    assert step(asked_at=ago(299)) == (Step.WAIT, 0)
    assert step(asked_at=ago(300)) == (Step.RAISE, 37_500)


def test_one_waits_after_the_last_step_too():
    assert step(has=reserved(60_000), asked_at=ago(299)) == (Step.WAIT, 0)


def test_a_time_to_come_is_not_waited_for():
    assert step(asked_at=ago(-86_400)) == (Step.RAISE, 37_500)


@pytest.mark.parametrize('different', [
    {'busy': True}, {'status': 'RESIZE'}, {'status': 'SHUTOFF'}, {'status': 'VERIFY_RESIZE'}])
def test_what_something_is_done_to_is_left_alone(different):
    assert step(**different) == (Step.WAIT, 0)


def test_what_is_broken_is_healed():
    assert step(status='ERROR') == (Step.HEAL, 0)


@given(st.integers(2, 60_000), st.integers(2, 60_000), st.integers(1, 1_000))
def test_steps_end_at_the_flavor_and_each_is_longer(has_us, most_us, percent):
    rules = dataclasses.replace(RULES, percent=percent)
    for _ in range(100_000):
        found, runtime_us = raising.next_step(dataclasses.replace(
            SERVER, has=reserved(has_us), most=reserved(most_us)), rules, NOW)
        if found is Step.HEAL:
            break
        assert has_us < runtime_us <= most_us
        has_us = runtime_us
    assert has_us >= most_us
