# SPDX-License-Identifier: Apache-2.0
import json

from nova_rt import bandwidth
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


def test_filling_one_host_is_placing_one_by_one():
    host = shares.HostShares.empty([bandwidth.BW_UNIT] * 3)
    assert plan_capacity.fill(
        host, reservation.Reservation(1000, 3000, 2), 'worst-fit') == 4
