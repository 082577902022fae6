# SPDX-License-Identifier: Apache-2.0
import re

import numpy as np
import pytest

from nova_rt.cmd import plan
from nova_rt.tests.unit.plan.cases import SERVICE
from nova_rt.tests.unit.plan.cases import TARGET


def test_size_prints_a_flavor_that_meets_the_target(ask):
    (row,) = ask('size', *SERVICE, *TARGET)
    # Closed form: (λ - ln(1 - φ) / D) / µ.
    assert row['bandwidth'] == pytest.approx(
        (100 - np.log(0.01) / 0.02) / 500)
    assert row['runtime_us'] == -(-(1000 * row['bandwidth'] + 4) // 1)
    assert row['simulated_verdict'] == 'meets the target'
    assert row['command'] == (
        'openstack flavor create rt-service --vcpus 1 --ram 512 --disk 1 '
        f'--property hw:cpu.rt_runtime_us={row["runtime_us"]} '
        '--property hw:cpu.rt_period_us=1000')


def test_size_says_when_the_period_is_too_long_for_the_formula(ask):
    (row,) = ask('size', '--arrival-rate', '5000', '--processing-us', '100',
                 '--deadline-us', '1000', '--period-us', '20000')
    assert row['simulated_verdict'].startswith('misses the target')


def test_a_verdict_that_the_error_forbids_names_how_many_requests_decide(ask):
    question = ['size', '--arrival-rate', '100', '--processing-us', '2000', '--percentile',
                '0.9', '--deadline-us', '20000', '--period-us', '10000']

    requests = '1000'
    for _ in range(4):
        (row,) = ask(*question, '--requests', requests)
        assert row['simulated_requests'] == int(requests)
        distance = abs(row['simulated_percentile_us'] - 20_000)
        found = re.fullmatch(r'not decided: .* µs; --requests (\d+) probably decides it',
                             row['simulated_verdict'])
        assert (distance < row['simulated_percentile_error_us']) == bool(found)
        if not found:
            break
        assert int(found[1]) > int(requests)
        requests = found[1]
    assert requests != '1000'
    assert row['simulated_verdict'] == 'meets the target'


def test_a_percentile_gets_as_many_requests_as_it_needs(ask):
    question = ['size', *SERVICE, '--deadline-us', '30000', '--percentile', '0.999']
    (row,) = ask(*question)
    assert row['simulated_requests'] == 100_000
    (row,) = ask(*question, '--requests', '99999')
    assert row['simulated_verdict'] == (
        'not decided: 99999 requests are too few for this percentile; --requests '
        '100000 may decide it')


@pytest.mark.parametrize('requests', ['0', '-5', '499'])
def test_too_few_requests_are_refused(capsys, requests):
    assert plan.main(['size', *SERVICE, *TARGET, '--requests', requests])
    assert capsys.readouterr().err.endswith(
        f'--requests is {requests}, which tells nothing: give 500 or more.\n')


def test_no_time_is_written_with_an_exponent(capsys):
    assert plan.main(['size', '--arrival-rate', '5000', '--processing-us',
                      '100', '--deadline-us', '1000', '--period-us',
                      '2000000']) == 0
    shown = capsys.readouterr().out
    assert re.search(r'misses the target by \d{6} µs:', shown)
    assert 'e+' not in shown


def test_size_of_rare_requests_says_that_it_did_not_simulate(ask):
    (row,) = ask('size', '--arrival-rate', '0.00001', '--processing-us',
                 '100', '--deadline-us', '1000')
    assert row['simulated_verdict'].startswith('not simulated')


def test_the_bound_asks_for_more_than_the_exact_percentile(ask):
    network = ['--network-mbps', '2', '--request-bytes', '1000',
               '--no-simulation']
    (exact,) = ask('size', *SERVICE, *TARGET[:1], '60000', *TARGET[2:],
                   *network)
    (bound,) = ask('size', *SERVICE, *TARGET[:1], '60000', *TARGET[2:],
                   *network, '--bound')
    assert bound['bandwidth'] > exact['bandwidth']
    assert exact['simulated_mean_us'] is None


def test_size_splits_a_target_over_a_chain(ask, tmp_path):
    path = tmp_path / 'chain.yaml'
    path.write_text(
        '- {name: firewall, arrival_rate: 100, processing_us: 800}\n'
        '- {name: dpi, arrival_rate: 100, processing_us: 3000}\n')
    rows = ask('size', '--chain', str(path), '--deadline-us', '40000',
               '--no-simulation')
    assert [row['name'] for row in rows] == ['firewall', 'dpi']
    assert sum(row['mean_us'] for row in rows) == pytest.approx(40_000)
    assert rows[1]['bandwidth'] > rows[0]['bandwidth']


def test_a_stage_without_a_name_gets_its_number(ask, tmp_path):
    path = tmp_path / 'chain.yaml'
    path.write_text(
        '- {arrival_rate: 100, processing_us: 800}\n'
        '- {name: "", arrival_rate: 100, processing_us: 3000}\n')
    rows = ask('size', '--chain', str(path), '--deadline-us', '40000',
               '--no-simulation')
    assert [row['name'] for row in rows] == ['stage1', 'stage2']


@pytest.mark.parametrize('options', [
    [], ['--percentile', '0.5'], ['--percentile', '0.999'],
    ['--no-simulation'], ['--bound', '--period-us', '500']])
def test_a_row_has_the_same_keys_whatever_is_asked(ask, options):
    (row,) = ask('size', *SERVICE, '--deadline-us', '90000', *options)
    assert list(row) == [
        'name', 'bandwidth', 'runtime_us', 'period_us', 'vcpus', 'mean_us',
        'percentile', 'percentile_us', 'percentile_bound_us',
        'simulated_requests', 'simulated_mean_us', 'simulated_mean_error_us',
        'simulated_percentile_us', 'simulated_percentile_error_us', 'simulated_verdict',
        'command']
    assert row['percentile'] == (
        float(options[1]) if '--percentile' in options else 0.99)
