# SPDX-License-Identifier: Apache-2.0
"""The clouds in which placement policies are compared."""

import pytest

from bench import acceptance
from bench import cloud
from nova_rt import fitting

ONE = cloud.Mix('one', [(95, 1)])


def test_the_load_is_of_what_the_host_admits():
    servers = list(cloud.arrivals(acceptance.MIXED, 64, 0.7, 20_000, seed=1))
    duration = servers[-1][0]
    work = sum((end - begin) * wanted.share for begin, end, wanted in servers)
    assert work / duration / (64 * cloud.CAP) == pytest.approx(0.7, rel=0.03)


def test_a_case_is_the_same_in_every_run():
    outcomes = {cloud.placed_by('worst-fit', acceptance.MIXED, 16, 0.8, 900, 1)
                for _ in range(2)}
    assert len(outcomes) == 1


def test_where_each_server_fills_a_pcpu_all_policies_reach_the_ceiling():
    limit = cloud.ceiling(ONE, 8, 0.9, 2_000, seed=1).accepted
    assert limit < 95
    for policy in fitting.POLICIES:
        outcome = cloud.placed_by(policy, ONE, 8, 0.9, 2_000, seed=1)
        assert outcome.accepted == limit
        assert 0 < outcome.imbalance < 95


@pytest.mark.parametrize('mix', [acceptance.MIXED, acceptance.WIDE])
def test_no_policy_passes_the_ceiling(mix):
    limit = cloud.ceiling(mix, 32, 0.7, 1_500, seed=1).accepted
    for policy in fitting.POLICIES:
        assert cloud.placed_by(
            policy, mix, 32, 0.7, 1_500, seed=1).accepted <= limit


def test_a_server_with_more_vcpus_than_pcpus_is_refused_even_by_the_ceiling():
    mix = cloud.Mix('too wide', [(5, 3)])
    assert cloud.ceiling(mix, 2, 0.5, 600, seed=1).accepted == 0
    assert cloud.placed_by('worst-fit', mix, 2, 0.5, 600, seed=1).accepted == 0
