# SPDX-License-Identifier: Apache-2.0
import csv
import importlib.metadata
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from nova_rt.cmd import plan
from nova_rt.cmd import plan_capacity
from nova_rt.tests.unit.model import examples

SERVICE = ['--arrival-rate', '100', '--processing-us', '2000']
TARGET = ['--deadline-us', '20000', '--percentile', '0.99']
PAPER = ['--budget-us', '30000', '--period-us', '10000', '--vcpus', '4']


@pytest.fixture
def ask(capsys):
    def asked(*arguments):
        assert plan.main([*arguments, '-f', 'json']) == 0
        return json.loads(capsys.readouterr().out)
    return asked


@pytest.fixture
def gamma(tmp_path):
    path = tmp_path / 'gamma.csv'
    path.write_text('wcet_ms, period_ms\n' + '\n'.join(
        f'{wcet}, {period}' for wcet, period in examples.GAMMA_MS))
    return str(path)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / 'small.yaml'
    path.write_text('tasks:\n'
                    '  - {name: control, wcet_ms: 3, period_ms: 20}\n'
                    '  - {wcet_us: 12000, period_us: 40000, deadline_ms: 35}'
                    '\n  - {wcet_ms: 0.25, period_s: 0.08}\n')
    return str(path)


def test_analyse_gives_both_verdicts_for_the_set_of_the_paper(ask, gamma):
    fixed, earliest = ask('analyse', gamma, *PAPER)
    assert fixed['schedulable'] is True
    assert fixed['runtime_us'] == 7500
    assert 'hw:cpu.rt_runtime_us=7500' in fixed['command']
    assert len(fixed['tasks']) == 15
    assert earliest['schedulable'] is False
    assert earliest['failing_instant_us'] == 32_000
    assert earliest['failing_task'] == 'task 1 (2, 32) ms'


def test_what_overhead_takes_is_not_there_for_the_tasks(ask, gamma):
    def fixed(budget, *more):
        return ask('analyse', gamma, '--budget-us', str(budget), *PAPER[2:],
                   '--scheduler', 'fp', *more)[0]
    less = fixed(30_000, '--overhead-us', '300')
    assert less['slack_us'] == fixed(28_800)['slack_us']
    assert less['slack_us'] != fixed(30_000)['slack_us']
    assert less['runtime_us'] == 7500


def test_analyse_finds_the_least_reservation(ask, gamma):
    fixed, earliest = ask('analyse', gamma, '--period-us', '10000')
    for row in (fixed, earliest):
        assert row['utilisation'] < row['bandwidth'] < 3
    (four,) = ask('analyse', gamma, '--period-us', '10000', '--vcpus', '4',
                  '--scheduler', 'fp')
    assert four['bandwidth'] > fixed['bandwidth']


def test_analyse_reads_yaml_in_mixed_units(ask, small):
    fixed, _ = ask('analyse', small, '--runtime-us', '9000', '--period-us',
                   '10000')
    assert [task['task'] for task in fixed['tasks']] == [
        'control (3, 20) ms', 'task 2 (12, 40, D 35) ms',
        'task 3 (0.25, 80) ms']


def test_one_scheduler_that_finds_nothing_does_not_hide_the_other(
        ask, gamma):
    fixed, earliest = ask('analyse', gamma, '--period-us', '10000',
                          '--vcpus', '2', '--cap', '1')
    assert not fixed['schedulable']
    assert 'No reservation of 2 vCPUs' in fixed['reason']
    assert earliest['runtime_us'] < 10_000


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
    assert 'simulated_mean_us' not in exact


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


def test_capacity_counts_what_fits_under_each_policy(ask, tmp_path):
    rows = ask('capacity', '--pcpus', '4', '--hosts', '10', '--runtime-us',
               '30000', '--period-us', '100000', '--vcpus', '2')
    assert {row['policy']: row['fit'] for row in rows} == {
        'worst-fit': 60, 'best-fit': 60, 'first-fit': 60}
    path = tmp_path / 'before.jsonl'
    path.write_text('\n'.join(json.dumps({
        'op': 'add', 'id': f'c{i}', 'runtime_us': 20_000,
        'period_us': 100_000, 'vcpus': 1}) for i in range(4)) + '\nnonsense\n')
    rows = ask('capacity', '--pcpus', '4', '--runtime-us', '80000',
               '--period-us', '100000', '--existing', str(path))
    assert {row['policy']: row['fit'] for row in rows} == {
        'worst-fit': 0, 'best-fit': 3, 'first-fit': 3}
    assert {row['existing_rejected'] for row in rows} == {1}


def test_filling_one_host_is_placing_one_by_one():
    from nova_rt import bandwidth
    from nova_rt import reservation
    from nova_rt import shares
    host = shares.HostShares.empty([bandwidth.BW_UNIT] * 3)
    assert plan_capacity.fill(
        host, reservation.Reservation(1000, 3000, 2), 'worst-fit') == 4


def test_csv_and_table_hold_the_same_as_json(capsys, gamma):
    assert plan.main(['analyse', gamma, *PAPER, '-f', 'csv']) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row['schedulable'] for row in rows] == ['yes', 'no']
    assert plan.main(['analyse', gamma, *PAPER]) == 0
    table = capsys.readouterr().out
    assert 'Not schedulable' in table
    assert '397142' in table


def test_rows_of_different_columns_share_a_table(capsys, tmp_path):
    path = tmp_path / 'chain.csv'
    path.write_text('name,arrival_rate,processing_us\n'
                    'often,50,500\nrare,0.0001,500\n')
    for style in ('table', 'csv'):
        assert plan.main(['size', '--chain', str(path), '--deadline-us',
                          '20000', '-f', style]) == 0
        shown = capsys.readouterr().out
        assert 'not simulated' in shown
        assert 'simulated_mean_us' in shown


BAD_FILES = [
    ('none.csv', None, 'No such file'),
    ('tasks.txt', 'wcet', 'ends in none'),
    ('a.yaml', '', 'no list'), ('a.yaml', '{', 'not valid YAML at line'),
    ('a.yaml', '[' * 5000, 'not valid YAML'), ('a.yaml', '- 5', 'Entry 1'),
    ('a.yaml', 'tasks: 7', 'no list'), ('a.yaml', '- {1: 2}', 'Entry 1'),
    ('a.yaml', '- {wcet: 1}', 'no period'),
    ('a.yaml', '- {period: 1}', 'no wcet'),
    ('a.yaml', '- {wcet: 1, period: 9, depth: 2}', "'depth'"),
    ('a.yaml', '- {wcet: 1, wcet_ms: 1, period: 9}', 'twice'),
    ('a.yaml', '- {wcet: .nan, period: 9}', 'nan'),
    ('a.yaml', '- {wcet: 1e308, period: 9}', 'at most'),
    ('a.yaml', '- {wcet: 1, period: 0}', 'The period of task 1'),
    ('a.yaml', '- {wcet: -1, period: 9}', 'wcet of task 1'),
    ('a.yaml', '- {wcet: 0.5, period: 9}', 'finer than 1 µs'),
    ('a.yaml', '- {wcet: [1], period: 9}', 'number'),
    ('a.yaml', '- {wcet: 10, period: 9}', 'longer than its deadline'),
    ('a.csv', '', 'no list'), ('a.csv', 'wcet,period\n1,2,3\n', 'Line 2'),
    ('a.csv', 'wcet,period\n1,\n', 'no period'),
    ('a.csv', 'wcet,period\nx,2\n', "'x'"),
    ('a.csv', b'\xff\xfe\x00', 'UTF-8'),
    ('a.csv', 'wcet,period\n' + '1,2\n' * 1001, '1001 tasks'),
    ('a.csv', 'x' * 1_000_001, 'larger than'),
    ('a.csv', 'wcet,period\n9,10\n9,10\n9,10\n', 'No reservation')]


@pytest.mark.parametrize(('name', 'text', 'words'), BAD_FILES)
def test_a_bad_file_gets_a_sentence(tmp_path, capsys, name, text, words):
    path = tmp_path / name
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert plan.main(['analyse', str(path), '--scheduler', 'fp',
                      '--period-us', '1000']) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count('\n') == 1


@pytest.mark.parametrize(('arguments', 'words'), [
    (['size', '--deadline-us', '1000'], 'Give --arrival-rate'),
    (['size', *SERVICE, '--deadline-us', '0'], 'The deadline'),
    (['size', *SERVICE, '--deadline-us', 'nan'], 'not a number'),
    (['size', *SERVICE, '--deadline-us', '1e308'], '1e+308'),
    (['size', *SERVICE, '--deadline-us', '100'], 'reaches only'),
    (['size', *SERVICE, '--deadline-us', '1', '--percentile', '99'],
     'such as 0.99'),
    (['size', '--arrival-rate', '600', '--processing-us', '2000',
      '--deadline-us', '1000'], 'Unstable'),
    (['size', '--arrival-rate', '-5', '--processing-us', '2000',
      '--deadline-us', '1000'], 'arrival rate'),
    (['size', '--arrival-rate', '5', '--processing-us', '0',
      '--deadline-us', '1000'], 'processing time'),
    (['size', *SERVICE, *TARGET, '--network-mbps', '1'], 'give both'),
    (['size', *SERVICE, *TARGET, '--network-mbps', '0.1',
      '--request-bytes', '2000'], 'Unstable'),
    (['size', *SERVICE, *TARGET, '--switch-us', 'inf'], 'inf'),
    (['size', *SERVICE, *TARGET, '--switch-us', '-1'], 'overhead'),
    (['size', '--chain', 'none.yaml', '--deadline-us', '1'], 'No such file'),
    (['size', '--chain', 'none.yaml', '--deadline-us', '1', '--bound'],
     'not both'),
    (['capacity', '--pcpus', '4', '--runtime-us', '0', '--period-us', '100'],
     'runtime'),
    (['capacity', '--pcpus', '4', '--runtime-us', '50', '--period-us', '100',
      '--vcpus', '0'], 'at least 1 vCPU'),
    (['capacity', '--pcpus', '8192', '--runtime-us', '5', '--period-us',
      '4194304'], 'More than 20000'),
    (['capacity', '--pcpus', '4', '--runtime-us', '50', '--period-us', '100',
      '--existing', '/none/such'], 'No such file'),
    (['plot', 'response', *SERVICE, '-o', '/none/such/place'],
     'cannot be written'),
    (['plot', 'response', '--arrival-rate', '600', '--processing-us', '2000'],
     'Unstable'),
    (['plot', 'host', '/none/such', '--pcpus', '4'], 'No such file'),
    (['plot', 'host', '/dev/null', '--pcpus', '4', '--hosts', '99'],
     'do not fit a picture'),
    (['plot', 'paper', 'evaluation', '--sets', '0'], 'number of sets'),
])
def test_nonsense_gets_a_sentence(arguments, words, capsys):
    assert plan.main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count('\n') == 1
    assert captured.out == ''


def test_options_that_exclude_each_other_get_a_sentence(gamma, capsys):
    for options, words in (
            (['--runtime-us', '5', '--budget-us', '5'], 'not both'),
            (['--runtime-us', '5'], '--period-us too'),
            ([*PAPER[:4], '--vcpus', '2'], 'more than 2 vCPUs'),
            (['--period-us', '-4'], 'period'), (['--vcpus', '0'], 'vCPUs'),
            (['--period-us', '9' * 18], 'period'),
            (['--overhead-us', '-1'], 'overhead'),
            ([*PAPER, '--overhead-us', '9' * 6], 'leaves nothing')):
        assert plan.main(['analyse', gamma, '--scheduler', 'fp',
                          *options]) == 2
        assert words in capsys.readouterr().err


def test_simulate_capacity_and_help_need_no_heavy_package():
    code = (
        'import sys\n'
        'for name in ("numpy", "numba", "scipy", "matplotlib", "yaml",'
        ' "rich", "nova"):\n'
        '    sys.modules[name] = None\n'
        'from nova_rt.cmd import plan\n'
        'for words in (["--help"], ["plot", "paper", "--help"]):\n'
        '    try:\n'
        '        plan.main(words)\n'
        '    except SystemExit as exc:\n'
        '        assert exc.code == 0\n'
        'plan.main(["simulate", "--pcpus", "2"])\n'
        'plan.main(["capacity", "--pcpus", "2", "--runtime-us", "50", '
        '"--period-us", "100"])\n'
        'print(plan.main(["plot", "paper", "figure7"]))\n')
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True,
        input='{"op": "remove", "id": "x"}\n', check=True)
    assert 'no reservation x' in done.stdout
    assert 'worst-fit' in done.stdout
    assert done.stdout.endswith('2\n')
    assert "install 'nova-rt[plan]'" in done.stderr


def test_a_reader_that_has_seen_enough_ends_the_run_quietly():
    lines = '{"op": "remove", "id": "x"}\n' * 20_000
    done = subprocess.run(
        f'{sys.executable} -m nova_rt.cmd.plan simulate --pcpus 1 | head -1',
        shell=True, capture_output=True, text=True, input=lines, check=True)
    assert done.stdout.count('\n') == 1
    assert done.stderr == ''


def help_of(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        plan.main([*words])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_names_each_command_with_its_purpose(capsys):
    shown = help_of(capsys, '--help')
    for line in ('analyse         Test a task set, or find',
                 'capacity        Count the reservations',
                 'plot bounds     Draw supply', 'plot host       Draw the',
                 'plot paper      Draw what', 'plot response   Draw response',
                 'plot schedule   Draw a Gantt', 'simulate        Place',
                 'size            Find the reservation that a service needs'):
        assert f'\n  {line}' in shown
    assert help_of(capsys, 'help') == shown


@pytest.mark.parametrize('words', [
    ['size', '--help'], ['help', 'size'],
    ['size', '--deadline-us', '5', '-h']])
def test_a_command_shows_its_own_help(words, capsys):
    shown = help_of(capsys, *words)
    assert shown.startswith('usage: nova-rt-plan size [-h] [--arrival-rate')
    assert '--deadline-us US' in shown
    assert 'Poisson' in shown


def test_the_kinds_of_pictures_can_be_listed(capsys):
    assert plan.main(['plot', '--help']) == 0
    assert capsys.readouterr().out.split('\n')[1:-1] == [
        '  plot bounds', '  plot host', '  plot paper', '  plot response',
        '  plot schedule']


def test_the_version_is_that_of_the_distribution(capsys):
    assert help_of(capsys, '--version') == (
        f'nova-rt-plan {importlib.metadata.version("nova-rt")}\n')


@pytest.mark.parametrize(('words', 'shown'), [
    ([], 'required: COMMAND'), (['grow'], "'grow' is not a command"),
    (['plot'], 'give one of plot bounds, plot host, plot paper, plot'),
    (['sim', '--pcpus', '4'], "'sim' is not a command"),
    (['plot', 'pap', 'figure7'], "'plot' is not a command"),
    (['--pcpus', '4'], "'--pcpus' is not a command"),
    (['simulate', '--pcp', '4'], 'required: --pcpus'),
    (['capacity', '--pcpus', '4', 'more'], 'required: --runtime-us')])
def test_what_is_no_command_or_option_is_refused_on_standard_error(
        words, shown, capsys):
    with pytest.raises(SystemExit) as ended:
        plan.main(words)
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert shown in captured.err
    assert captured.out == ''


def test_an_unexpected_error_keeps_its_traceback(monkeypatch, caplog):
    def fail(*_):
        raise ZeroDivisionError('of ours')
    monkeypatch.setattr(plan_capacity, '_row', fail)
    assert plan.main(['capacity', '--pcpus', '4', '--runtime-us', '50',
                      '--period-us', '100']) == 1
    assert 'Traceback' in caplog.text
