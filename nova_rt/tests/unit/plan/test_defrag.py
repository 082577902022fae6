# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from nova_rt.cmd import plan

# The containers of Figure 5 of the OpenStack paper, in percent and vCPUs.
FIGURE_5 = ((50, 2), (30, 1), (40, 3))
WANTED = ['--runtime-us', '75000', '--period-us', '100000']


@pytest.fixture
def existing(tmp_path):
    def write(*servers):
        path = tmp_path / 'existing.jsonl'
        path.write_text('\n'.join(json.dumps({
            'op': 'add', 'id': f'c{number}', 'runtime_us': percent * 1000,
            'period_us': 100_000, 'vcpus': vcpus})
            for number, (percent, vcpus) in enumerate(servers, 1)))
        return ['--existing', str(path)]
    return write


def test_the_papers_example_takes_one_move(ask, existing):
    (row,) = ask('defrag', '--pcpus', '4', *existing(*FIGURE_5), *WANTED)
    assert row['moves'] == 1
    assert row['steps'] == [{'server': 'c3', 'from': 3, 'to': 1, 'bandwidth': '40%'}]
    assert row['proof'] == 'No plan has fewer moves.'
    assert [(part['left_before'], part['left_after']) for part in row['pcpus']] == [
        ('5%', '5%'), ('45%', '5%'), ('25%', '25%'), ('55%', '95%')]


def test_without_a_reservation_the_host_is_balanced(ask, existing):
    servers = existing((20, 1), (20, 1), (20, 1))
    (row,) = ask('defrag', '--pcpus', '3', '--policy', 'first-fit', *servers)
    assert row['moves'] == 2
    assert row['bandwidth'] == '40%'
    assert [part['left_after'] for part in row['pcpus']] == ['75%'] * 3


def test_the_table_shows_the_moves_and_the_pcpus(capsys, existing):
    assert plan.main(['defrag', '--pcpus', '4', *existing(*FIGURE_5), *WANTED]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ['c3', '3', '1', '40%'] in lines
    assert ['3', '55%', '95%'] in lines


@pytest.mark.parametrize(('servers', 'options', 'sentence'), [
    (FIGURE_5, [*WANTED, '--vcpus', '2'], 'No plan of at most 8 moves makes this room.'),
    (FIGURE_5, WANTED[:2], 'Give both --runtime-us and --period-us'),
    (((96, 1),), WANTED, 'existing.jsonl: host0: 96% is needed'),
])
def test_what_cannot_be_planned_is_refused_with_a_sentence(
        capsys, existing, servers, options, sentence):
    assert plan.main(['defrag', '--pcpus', '4', *existing(*servers), *options]) == 2
    assert sentence in capsys.readouterr().err
