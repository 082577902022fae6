# SPDX-License-Identifier: Apache-2.0
import io
import json
import subprocess
import sys
import types

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt.cmd import plan


def simulate(monkeypatch, capsys, lines, *options):
    """Return the answers to these lines (objects, text or raw bytes)."""
    raw = b''.join(
        (line if isinstance(line, bytes)
         else (line if isinstance(line, str) else json.dumps(line)).encode())
        + b'\n' for line in lines)
    monkeypatch.setattr(
        sys, 'stdin', types.SimpleNamespace(buffer=io.BytesIO(raw)))
    assert plan.main(['simulate', *(options or ('--pcpus', '4'))]) == 0
    return [json.loads(text) for text in capsys.readouterr().out.splitlines()]


@pytest.fixture
def ask(monkeypatch, capsys):
    return lambda lines, *options: simulate(
        monkeypatch, capsys, lines, *options)


def add(name, percent, vcpus=1):
    return {'op': 'add', 'id': name, 'runtime_us': percent * 1000,
            'period_us': 100_000, 'vcpus': vcpus}


def test_figure_5_of_the_openstack_paper_comes_out_exactly(ask):
    answers = ask(
        [add('c1', 50, 2), add('c2', 30), add('c3', 40, 3), add('c4', 75)],
        '--pcpus', '4', '--cap', '0.95', '--policy', 'worst-fit')
    assert answers[:3] == [
        {'id': 'c1', 'host': 'host0', 'pcpus': [0, 1]},
        {'id': 'c2', 'host': 'host0', 'pcpus': [2]},
        {'id': 'c3', 'host': 'host0', 'pcpus': [3, 2, 0]}]
    assert answers[3]['id'] == 'c4'
    assert '75% is needed' in answers[3]['rejected']
    assert 'host0' in answers[3]['rejected']


def test_a_removal_makes_room_and_says_where(ask):
    answers = ask([add('c1', 90), add('c2', 90),
                   {'op': 'remove', 'id': 'c1'}, add('c2', 90)],
                  '--pcpus', '1')
    assert 'rejected' in answers[1]
    assert answers[2] == {'id': 'c1', 'host': 'host0', 'pcpus': [0],
                          'removed': True}
    assert answers[3] == {'id': 'c2', 'host': 'host0', 'pcpus': [0]}


def test_reservations_spread_over_hosts(ask):
    answers = ask([add('c1', 60), add('c2', 60), add('c3', 60)],
                  '--pcpus', '1', '--hosts', '2')
    assert [answer.get('host') for answer in answers] == ['host0', 'host1', None]


@pytest.mark.parametrize(('policy', 'pcpus'), [
    ('worst-fit', [1]), ('best-fit', [0]), ('first-fit', [0]),
    ('least-fragmentation', [1])])
def test_the_policy_chooses_the_pcpu(ask, policy, pcpus):
    answers = ask([add('c1', 50), add('c2', 20)],
                  '--pcpus', '2', '--policy', policy)
    assert answers[1]['pcpus'] == pcpus


BAD_LINES = [
    ('not json', 'not JSON'),
    ('', 'not JSON'),
    ('{"op": "add"', 'not JSON'),
    ('[1, 2]', 'not an object'),
    ('null', 'not an object'),
    (b'\xff\xfe', 'UTF-8'),
    ('[' * 100_000, 'nested'),
    ('{"op":"add","id":"x","runtime_us":' + '9' * 5000 + '}', 'digits'),
    ({}, 'op is missing'),
    ({'op': 'grow', 'id': 'x'}, '"grow"'),
    ({'op': ['add'], 'id': 'x'}, '"add"'),
    ({'op': 'add'}, 'id is missing'),
    ({'op': 'remove'}, 'id is missing'),
    ({'op': 'add', 'id': ''}, 'not empty'),
    ({'op': 'add', 'id': 7}, 'The id is 7'),
    ({'op': 'add', 'id': None}, 'null'),
    ({'op': 'add', 'id': {}}, 'The id is {}'),
    ({'op': 'remove', 'id': 'nobody'}, 'no reservation nobody'),
    (add('held', 10), 'held is placed already'),
    ({'op': 'add', 'id': 'x', 'period_us': 1000, 'vcpus': 1},
     'runtime_us is missing'),
    ({'op': 'add', 'id': 'x', 'runtime_us': 100, 'vcpus': 1},
     'period_us is missing'),
    ({'op': 'add', 'id': 'x', 'runtime_us': 100, 'period_us': 1000},
     'vcpus is missing'),
    (add('x', 10) | {'vcpu': 2},
     'The field "vcpu" is unknown: give op, id, runtime_us, period_us, vcpus.'),
    ({'op': 'remove', 'id': 'held', 'x' * 500: 1}, 'is unknown'),
    (add('x', 10) | {'runtime_us': 0}, '0 µs'),
    (add('x', 10) | {'runtime_us': -5}, '-5 µs'),
    (add('x', 10) | {'runtime_us': True}, 'True'),
    (add('x', 10) | {'runtime_us': None}, 'None'),
    (add('x', 10) | {'runtime_us': 1.5}, '1.5'),
    (add('x', 10) | {'runtime_us': [1, 2]}, 'list'),
    (add('x', 10) | {'runtime_us': 'abc'}, 'abc'),
    (add('x', 10) | {'runtime_us': '١٢٣'}, 'whole number'),
    (add('x', 10) | {'runtime_us': 200_000}, 'longer than the period'),
    (add('x', 10) | {'runtime_us': 1 << 63}, 'far out of range'),
    (add('x', 10) | {'runtime_us': 10 ** 400}, 'far out of range'),
    (add('x', 10) | {'period_us': 10}, 'from 100 µs'),
    (add('x', 10) | {'period_us': 1 << 62}, 'out of range'),
    (add('x', 10) | {'period_us': 1 << 23}, 'a period must be'),
    (add('x', 10) | {'vcpus': 0}, 'at least 1 vCPU'),
    (add('x', 10) | {'vcpus': -(10 ** 30)}, 'far out of range'),
    (add('x', 10) | {'vcpus': 5}, '5 distinct pCPUs'),
    (add('x', 10) | {'vcpus': 1 << 62}, 'out of range'),
    ('{"op":"add","id":"x","runtime_us":NaN,"period_us":1000,"vcpus":1}',
     'nan'),
    ('{"op":"add","id":"x","runtime_us":1e400,"period_us":1000,"vcpus":1}',
     'inf'),
]


@pytest.mark.parametrize(('line', 'words'), BAD_LINES)
def test_a_bad_line_gets_a_sentence_and_the_run_goes_on(ask, line, words):
    answers = ask([add('held', 10), line, add('next', 10)])
    assert len(answers) == 3
    assert words in answers[1]['rejected']
    assert 'pcpus' not in answers[1]
    assert len(answers[1]['rejected']) < 200
    assert answers[2] == {'id': 'next', 'host': 'host0', 'pcpus': [1]}


@pytest.mark.parametrize('options', [
    [], ['--pcpus', '0'], ['--pcpus', '-1'], ['--pcpus', 'four'],
    ['--pcpus', '9' * 50], ['--pcpus', '4', '--cap', '0'],
    ['--pcpus', '4', '--cap', '1.5'], ['--pcpus', '4', '--cap', 'nan'],
    ['--pcpus', '4', '--cap', '-inf'], ['--pcpus', '4', '--hosts', '0'],
    ['--pcpus', '4', '--policy', 'middle-fit']])
def test_bad_options_end_with_a_sentence(options, capsys):
    with pytest.raises(SystemExit) as ended:
        plan.main(['simulate', *options])
    assert ended.value.code == 2
    assert 'Traceback' not in capsys.readouterr().err


def test_the_console_script_streams_utf_8_and_lone_surrogates():
    line = '{"op": "add", "id": "\\ud800", "runtime_us": 1, ' \
           '"period_us": 100, "vcpus": 1}\n'
    done = subprocess.run(
        [sys.executable, '-m', 'nova_rt.cmd.plan', 'simulate',
         '--pcpus', '1'], input=line.encode(), capture_output=True,
        env={'PYTHONIOENCODING': 'ascii'}, check=True)
    answer = json.loads(done.stdout)
    assert answer['id'] == '\ud800'
    assert '1 µs' in answer['rejected']


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5),
                          st.integers(1, 100), st.integers(1, 4)),
                max_size=40))
def test_no_pcpu_is_ever_over_the_cap(steps):
    with pytest.MonkeyPatch.context() as patch:
        raw = '\n'.join(
            json.dumps(add(f'c{i}', percent, vcpus) if adds
                       else {'op': 'remove', 'id': f'c{i}'})
            for adds, i, percent, vcpus in steps)
        out = io.StringIO()
        patch.setattr(sys, 'stdin', types.SimpleNamespace(
            buffer=io.BytesIO(raw.encode())))
        patch.setattr(sys, 'stdout', out)
        plan.main(['simulate', '--pcpus', '3', '--hosts', '2'])
    answers = [json.loads(text) for text in out.getvalue().splitlines()]
    assert len(answers) == len(steps)
    used: dict[tuple[str, int], int] = {}
    held = {}
    for (_, i, percent, _), answer in zip(steps, answers, strict=True):
        if 'rejected' in answer:
            continue
        if answer.get('removed'):
            bw = -held.pop(i)
        else:
            bw = held[i] = bandwidth.to_bandwidth(percent * 1000, 100_000)
        for pcpu in answer['pcpus']:
            spot = answer['host'], pcpu
            used[spot] = used.get(spot, 0) + bw
            assert 0 <= used[spot] <= bandwidth.fraction_to_bandwidth(0.95)
