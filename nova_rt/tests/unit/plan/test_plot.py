# SPDX-License-Identifier: Apache-2.0
import json

from matplotlib import image
import numpy as np
import pytest

from nova_rt.cmd import plan
from nova_rt.model import region
from nova_rt.tests.unit.plan.cases import PAPER
from nova_rt.tests.unit.plan.cases import SERVICE
from nova_rt.tests.unit.plan.cases import TARGET


def check_picture(base, capsys):
    """Check that SVG and PNG are there, large, and more than one colour."""
    assert capsys.readouterr().out.split() == [f'{base}.svg', f'{base}.png']
    pixels = image.imread(f'{base}.png')
    assert min(pixels.shape[:2]) > 300
    colours = np.unique(pixels[::4, ::4, :3].reshape(-1, 3), axis=0)
    assert len(colours) > 20
    with open(f'{base}.svg') as stream:
        assert '<svg' in stream.read(2000)


@pytest.mark.parametrize('kind', [
    ['bounds', 'FILE', *PAPER],
    ['bounds', 'FILE', '--runtime-us', '900', '--period-us', '1000'],
    ['schedule', 'FILE', '--period-us', '10000'],
    ['schedule', 'FILE', *PAPER, '--alone', '--length-us', '50000'],
    ['response', *SERVICE, *TARGET], ['response', *SERVICE],
    ['paper', 'figure6'], ['paper', 'figure7'], ['paper', 'table3'],
    ['paper', 'evaluation', '--sets', '3', '--runs', '2']])
def test_each_kind_of_picture_is_drawn(kind, gamma, tmp_path, capsys):
    base = str(tmp_path / 'picture')
    words = [gamma if word == 'FILE' else word for word in kind]
    assert plan.main(['plot', *words, '-o', base]) == 0
    check_picture(base, capsys)


def test_the_map_of_the_formula_is_drawn(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(region, 'LOADS', (0.5, 0.8))
    monkeypatch.setattr(region, 'PERIODS', (1.0, 20.0))
    base = str(tmp_path / 'map')
    assert plan.main(['plot', 'paper', 'region', '-o', base]) == 0
    check_picture(base, capsys)


def test_a_picture_of_hosts_is_drawn(tmp_path, capsys):
    path = tmp_path / 'ops.jsonl'
    path.write_text('\n'.join(json.dumps({
        'op': 'add', 'id': f'c{i}', 'runtime_us': 40_000,
        'period_us': 100_000, 'vcpus': 2}) for i in range(9)))
    base = str(tmp_path / 'host')
    assert plan.main(['plot', 'host', str(path), '--pcpus', '8', '--hosts',
                      '2', '-o', base]) == 0
    check_picture(base, capsys)
