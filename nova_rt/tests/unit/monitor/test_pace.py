# SPDX-License-Identifier: Apache-2.0
"""What a server may cost the host, whatever it does."""

import hypothesis
from hypothesis import strategies as st
import pytest

from nova_rt.monitor import pace

LOOKS = st.lists(st.integers(0, 5_000_000), min_size=1, max_size=200)


def looked(spent_ns, servers):
    """Look again as soon as that is possible; return how long it took."""
    budget, now_ns = pace.Budget(0), 0
    for spent in spent_ns:
        now_ns += spent
        now_ns += budget.spend(spent, now_ns, servers)
    return now_ns


@hypothesis.given(LOOKS, st.integers(1, 1000))
def test_no_server_takes_more_than_its_share_after_a_burst(spent_ns, servers):
    took_ns = looked(spent_ns, servers)
    assert sum(spent_ns) <= pace.BURST_NS + took_ns * pace.share(servers) + 1000


@hypothesis.given(st.integers(1, 10_000))
def test_all_together_take_a_tenth_of_a_cpu(servers):
    assert servers * pace.share(servers) <= pace.ALL * 1.000001
    assert pace.share(servers) <= pace.ONE


def test_a_server_with_few_misses_never_rests():
    budget = pace.Budget(0)
    assert not any(budget.spend(100_000, number * 20_000_000, 1) for number in range(1000))


def test_who_was_quiet_may_take_a_burst_again_but_not_more():
    budget = pace.Budget(0)
    overdrawn = budget.spend(2 * pace.BURST_NS, 0, 1)
    assert overdrawn == pytest.approx(pace.BURST_NS / pace.ONE)
    year = 10 ** 16
    assert budget.spend(pace.BURST_NS, year, 1) == 0
    assert budget.spend(pace.BURST_NS, year, 1) > 0
