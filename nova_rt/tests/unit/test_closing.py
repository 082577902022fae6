# SPDX-License-Identifier: Apache-2.0
"""Hosts that take no new servers for a while."""

import time

import pytest

from nova_rt import closing


def test_a_host_says_until_when():
    until_s = time.time() + 60
    assert closing.from_stat(closing.to_stat(until_s)) == int(until_s)
    assert closing.from_stat(closing.to_stat(None)) is None
    # One of a release that does not know of it.
    assert closing.from_stat(None) is None


def test_what_it_says_must_be_a_time():
    with pytest.raises(ValueError, match='soon'):
        closing.from_stat('soon')


def test_it_takes_none_until_then():
    until_s = time.time() + 60
    assert closing.refusal(until_s) == (
        f'takes no new servers until {closing.clock(until_s)}, as servers on it missed deadlines')
    assert closing.clock(3723) == '01:02:03 UTC'
    for over in (None, 0.0, time.time() - 1, time.time() + closing.LONGEST_S + 120):
        assert closing.refusal(over) is None
