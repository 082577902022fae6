# SPDX-License-Identifier: Apache-2.0
import importlib.metadata
import os
import subprocess
import sys

import pytest

from nova_rt.cmd import plan
from nova_rt.cmd import plan_capacity


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


CAPACITY = 'capacity --pcpus 2 --runtime-us 50 --period-us 100'


@pytest.mark.parametrize(('words', 'sentence'), [
    (f'{CAPACITY} >/dev/full', 'The output: No space left on device.'),
    ('simulate --pcpus 2 >/dev/full', 'The output: No space left on device.'),
    ('simulate --pcpus 2 <&-',
     'Standard input is closed: give it JSON lines.')])
@pytest.mark.parametrize('buffered', ['', '1'])
def test_a_full_disk_or_closed_input_gets_a_sentence(
        words, sentence, buffered):
    done = subprocess.run(
        f'{sys.executable} -m nova_rt.cmd.plan {words}', shell=True,
        capture_output=True, text=True, input='nonsense\n',
        env={**os.environ, 'PYTHONUNBUFFERED': buffered})
    assert done.stderr == f'nova-rt-plan: {sentence}\n'
    assert done.returncode == 2


def test_nobody_reads_the_answer_of_a_closed_output():
    done = subprocess.run(
        f'{sys.executable} -m nova_rt.cmd.plan {CAPACITY} >&-', shell=True,
        capture_output=True, text=True, check=True)
    assert done.stderr == ''
