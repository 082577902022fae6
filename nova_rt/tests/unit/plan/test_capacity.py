# SPDX-License-Identifier: Apache-2.0
import json

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares
from nova_rt.cmd import plan_capacity


def test_capacity_counts_what_fits_under_each_policy(ask, tmp_path):
    rows = ask('capacity', '--pcpus', '4', '--hosts', '10', '--runtime-us',
               '30000', '--period-us', '100000', '--vcpus', '2')
    assert {row['policy']: row['fit'] for row in rows} == {
        'worst-fit': 60, 'best-fit': 60, 'first-fit': 60,
        'least-fragmentation': 60}
    path = tmp_path / 'before.jsonl'
    path.write_text('\n'.join(json.dumps({
        'op': 'add', 'id': f'c{i}', 'runtime_us': 20_000,
        'period_us': 100_000, 'vcpus': 1}) for i in range(4)) + '\nnonsense\n')
    rows = ask('capacity', '--pcpus', '4', '--runtime-us', '80000',
               '--period-us', '100000', '--existing', str(path))
    assert {row['policy']: row['fit'] for row in rows} == {
        'worst-fit': 0, 'best-fit': 3, 'first-fit': 3,
        'least-fragmentation': 0}
    assert {row['existing_rejected'] for row in rows} == {1}


def test_shares_of_one_percent_on_256_pcpus_are_counted(ask):
    rows = ask('capacity', '--pcpus', '256', '--runtime-us', '1000', '--period-us',
               '100000')
    assert {row['fit'] for row in rows} == {256 * 95}


@pytest.mark.parametrize('policy', sorted(fitting.POLICIES))
@given(used=st.lists(st.integers(0, bandwidth.BW_UNIT), min_size=1, max_size=5),
       need=st.integers(bandwidth.BW_UNIT // 20, bandwidth.BW_UNIT))
def test_one_vcpu_each_are_as_many_as_placed_one_by_one(policy, used, need):
    host = shares.HostShares((bandwidth.BW_UNIT,) * len(used), tuple(used), tuple(used))
    wanted = reservation.Reservation(need, bandwidth.BW_UNIT, 1)
    filled, count = host, 0
    while fitting.shortfall(filled, wanted) is None:
        filled = filled.add(wanted, fitting.place(filled, wanted, policy))
        count += 1
    assert plan_capacity.fill(host, wanted, policy) == count


def test_filling_one_host_is_placing_one_by_one():
    host = shares.HostShares.empty([bandwidth.BW_UNIT] * 3)
    assert plan_capacity.fill(
        host, reservation.Reservation(1000, 3000, 2), 'worst-fit') == 4
