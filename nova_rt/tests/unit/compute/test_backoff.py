# SPDX-License-Identifier: Apache-2.0
"""Pauses between attempts."""

import time

import pytest

from nova_rt.compute import backoff


@pytest.fixture
def clock(monkeypatch):
    """The time, as a list of one number."""
    now_s = [1000.0]
    monkeypatch.setattr(time, 'monotonic', lambda: now_s[0])
    return now_s


def test_each_pause_is_twice_the_one_before_up_to_the_longest(clock):
    pauses = backoff.Backoff(60.0, 200.0)
    for expected_s in (60.0, 120.0, 200.0, 200.0):
        assert pauses.is_due('web')
        pauses.tried('web')
        clock[0] += expected_s - 1
        assert not pauses.is_due('web')
        clock[0] += 1


def test_names_have_pauses_of_their_own_and_begin_anew(clock):
    pauses = backoff.Backoff(60.0, 200.0)
    pauses.tried('web')
    pauses.tried('web')
    assert pauses.is_due('db')
    assert not pauses.is_due('web')
    pauses.forget('web')
    assert pauses.is_due('web')
    pauses.tried('web')
    clock[0] += 60
    assert pauses.is_due('web')
