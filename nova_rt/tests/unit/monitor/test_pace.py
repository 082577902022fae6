# SPDX-License-Identifier: Apache-2.0
"""What a server may cost the host, whatever it does."""

import hypothesis
from hypothesis import strategies as st
import pytest

from nova_rt.monitor import pace

LOOKS = st.lists(st.integers(0, 5_000_000), min_size=1, max_size=200)


def looked(spent_ns, servers):
    """Look again as soon as the rest is over; return how long that took, and the last rest."""
    budget, now_ns = pace.Budget(0), 0
    for spent in spent_ns:
        began_ns, now_ns = now_ns, budget.spend(spent, now_ns + spent, servers)
    return now_ns, now_ns - began_ns


@hypothesis.given(LOOKS, st.integers(1, 1000))
def test_no_server_takes_more_than_its_share_after_a_burst(spent_ns, servers):
    took_ns, _ = looked(spent_ns, servers)
    assert sum(spent_ns) <= pace.BURST_NS + took_ns * pace.share(servers) + 1000


@hypothesis.given(st.integers(1, 10_000))
def test_all_together_take_a_tenth_of_a_cpu(servers):
    assert servers * pace.share(servers) <= pace.ALL * 1.000001
    assert pace.share(servers) <= pace.ONE


def test_a_server_with_few_misses_is_heard_again_after_a_millisecond():
    took_ns, last_ns = looked([50_000] * 100, 1)
    assert last_ns == 1_000_000 + 50_000
    assert took_ns == 100 * last_ns


def test_who_was_quiet_may_take_a_burst_again_but_not_more():
    budget = pace.Budget(0)
    overdrawn = budget.spend(2 * pace.BURST_NS, 0, 1)
    assert overdrawn == pytest.approx(pace.BURST_NS / pace.ONE)
    year = 10 ** 16
    assert budget.spend(pace.BURST_NS, year, 1) == year + pace.SHORTEST_NS
    assert budget.spend(pace.BURST_NS, year, 1) > year + pace.SHORTEST_NS
