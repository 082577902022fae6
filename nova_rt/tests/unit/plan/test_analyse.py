# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt.cmd import plan
from nova_rt.cmd import plan_output
from nova_rt.tests.unit.plan.cases import PAPER


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


@pytest.mark.parametrize(('vcpus', 'guaranteed'), [('1', True), ('2', False)])
def test_a_yes_on_more_than_one_vcpu_says_that_it_is_not_guaranteed(
        ask, small, vcpus, guaranteed):
    for row in ask('analyse', small, '--runtime-us', '9000', '--period-us',
                   '10000', '--vcpus', vcpus):
        assert row['schedulable'] is True
        assert ('own kernel only' not in (row['reason'] or '')) == guaranteed


@pytest.mark.parametrize('more', [
    ('--runtime-us', '9000', '--period-us', '10000', '--vcpus', '2'), (),
    ('--vcpus', '2'), ('--period-us', '5000')])
def test_pinned_tasks_have_a_vcpu_each_and_a_yes_without_reserve(ask, small, more):
    for row in ask('analyse', small, '--pinned', *more):
        assert row['schedulable'] is True
        assert row['reason'] is None
        vcpus = {task['vcpu'] for task in row['tasks']}
        assert vcpus == set(range(min(3, row['vcpus'])))
        assert f"--vcpus {row['vcpus']} " in row['command']


def test_pinned_tasks_that_fit_nowhere_are_named(ask, small):
    fixed, _ = ask('analyse', small, '--pinned', '--runtime-us', '2000',
                   '--period-us', '10000', '--vcpus', '2')
    assert fixed['schedulable'] is False
    assert 'task 2 (12, 40, D 35) ms fits on none of 2 vCPUs' in fixed['reason'].replace(
        'Task task', 'task')


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


@pytest.mark.parametrize('more', [(), ('--vcpus', '2')])
def test_a_search_with_one_scheduler_shows_progress(ask, small, monkeypatch, more):
    steps = []

    def track(items, label):
        assert label == 'Searching periods'
        for item in items:
            steps.append(item)
            yield item

    monkeypatch.setattr(plan_output, 'track', track)
    (fixed,) = ask('analyse', small, '--scheduler', 'fp', *more)
    assert fixed['schedulable'] is True
    assert steps == [1000, 2000, 5000, 10_000, 20_000]


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


def test_a_single_vcpu_is_not_in_the_plural(small, capsys):
    assert plan.main(['analyse', small, '--vcpus', '1', '--cap', '0.1',
                      '--scheduler', 'fp']) == 2
    assert 'No reservation of 1 vCPU and 0.1' in capsys.readouterr().err


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
    ('a.yaml', '- {wcet: 10, period: 9}',
     'The execution time of task 1, 10 µs, is longer than its deadline'),
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
