# SPDX-License-Identifier: Apache-2.0
import json

from matplotlib import image
import numpy as np
import pytest

from nova_rt import bandwidth
from nova_rt import fleet
from nova_rt import reservation
from nova_rt import shares
from nova_rt.cmd import plan
from nova_rt.model import region
from nova_rt.model import simulator
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.model.plots import bounds
from nova_rt.model.plots import gantt
from nova_rt.model.plots import hosts
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


def test_of_many_tasks_those_nearest_to_their_deadlines_are_drawn():
    tasks = [tasks_.Task(10, 1000 + index, name=f'easy {index}') for index in range(40)]
    tasks.append(tasks_.Task(10, 5000, 500, 'tight'))
    outcome = simulator.simulate([simulator.Group(
        [simulator.Server(0, 900, 1000)], tasks, tasks_.deadline_monotonic(tasks))],
        5000, trace=True)
    drawn = gantt.draw(outcome, tasks, 0, 'title')
    chart = drawn.axes[1]
    labels = [label.get_text() for label in chart.get_yticklabels()]
    assert len(labels) == gantt.MOST
    nearest = sorted(range(len(tasks)), key=lambda index: -max(
        outcome.responses(index)) / tasks[index].deadline_us)[:gantt.MOST]
    assert [int(label.partition(':')[0]) - 1 for label in labels] == sorted(nearest)
    assert '30 nearest' in drawn.axes[0].get_title()


@pytest.mark.parametrize(('pcpus', 'rotation'), [(8, 0), (64, 90)])
def test_names_fit_their_bars(pcpus, rotation):
    cloud = fleet.Fleet({'h': shares.HostShares.empty(
        [bandwidth.BW_UNIT] * pcpus)}, 'worst-fit')
    cloud.add('a', reservation.Reservation(40_000, 100_000, pcpus))
    drawn = hosts.draw(cloud.hosts, cloud.placements, 'worst-fit')
    drawn.canvas.draw()
    bars = drawn.axes[0].patches
    names = [text for text in drawn.axes[0].texts if text.get_text().startswith('a')]
    assert len(names) == len(bars) == pcpus
    for text, bar in zip(names, bars, strict=True):
        assert text.get_rotation() == rotation
        assert text.get_window_extent().width <= bar.get_window_extent().width


def test_what_is_said_of_a_window_is_inside_the_axes():
    # One fails at the end of the picture, the other at its beginning.
    for tasks, resource in ((
            [tasks_.Task(2000, 10_000), tasks_.Task(5000, 12_000)],
            supply.Resource(6000, 10_000)), (
            [tasks_.Task(2000, 10_000), tasks_.Task(10, 400_000)],
            supply.Resource(6000, 10_000))):
        drawn = bounds.draw(tasks, resource)
        drawn.canvas.draw()
        for axis in drawn.axes:
            edges = axis.get_window_extent()
            for text in axis.texts:
                extent = text.get_window_extent()
                assert edges.x0 <= extent.x0, text
                assert extent.x1 <= edges.x1, text
