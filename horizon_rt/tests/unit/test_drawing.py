# SPDX-License-Identifier: Apache-2.0
"""Bars: where each part begins and how wide it is."""

from hypothesis import given
from hypothesis import strategies as st
import pytest

from horizon_rt import drawing
from nova_rt import bandwidth

CPU = bandwidth.BW_UNIT
CAP = bandwidth.to_bandwidth(95, 100)


def pcpu(left, capacity=CAP, number=0):
    return {'pcpu': number, 'capacity': capacity, 'used': capacity - left, 'left': left}


def holding(share, name='web', pcpus=(0,)):
    return {'server': f'id of {name}', 'name': name, 'project_id': 'p', 'pcpus': list(pcpus),
            'reservation': {'bandwidth': share}}


def test_parts_stand_beside_each_other_and_are_told_in_words():
    third = bandwidth.to_bandwidth(3, 10)
    bar, = drawing.bars([pcpu(CAP - 2 * third)], [holding(third), holding(third, 'db')])
    assert [(part.kind, part.x, part.width) for part in bar.parts] == [
        ('held', 0, 300), ('held', 300, 300), ('left', 600, 350)]
    assert bar.text == 'web 30%, db 30%, left 35%, cap 95%'


def test_what_reservations_of_other_pcpus_occupy_is_drawn_as_such():
    bar, = drawing.bars([pcpu(CPU // 4)], [holding(CPU // 4)])
    assert [part.kind for part in bar.parts] == ['held', 'others', 'left']
    assert 'others 45%' in bar.text


def test_only_servers_on_the_pcpu_are_in_its_bar():
    first, second = drawing.bars(
        [pcpu(CAP), pcpu(CAP, number=3)], [holding(CPU // 8, pcpus=[3])])
    assert 'web' not in first.text
    assert (second.pcpu, 'web 12.5%' in second.text) == (3, True)


def test_a_report_from_before_a_server_came_or_went_contradicts_nothing():
    came, = drawing.bars([pcpu(CAP)], [holding(bandwidth.to_bandwidth(3, 10))])
    assert came.text == 'web 30%, left 65%, cap 95%'
    went, = drawing.bars([pcpu(CAP // 2)], [])
    assert went.text == 'others 47.5%, left 47.5%, cap 95%'


def test_a_server_without_a_name_is_told_by_its_id():
    bar, = drawing.bars([pcpu(CPU // 2)], [{**holding(CPU // 8), 'name': ''}])
    assert 'id of web 12.5%' in bar.text


def test_a_cap_below_what_is_reserved_leaves_nothing_and_not_less():
    bar, = drawing.bars([pcpu(-CPU // 4, capacity=CPU // 4)], [holding(CPU // 2)])
    assert bar.parts[-1].width == 0
    assert 'left 0%' in bar.text


@given(st.lists(st.integers(1, CAP // 40), max_size=40), st.integers(CAP, CPU))
def test_the_parts_fill_the_cap_whatever_the_rounding(held, capacity):
    left = capacity - sum(held)
    bar, = drawing.bars([pcpu(left, capacity)], [holding(share) for share in held])
    ends = [0]
    for part in bar.parts:
        assert part.x == ends[-1]
        assert part.width >= 0
        ends.append(part.x + part.width)
    assert ends[-1] == round(capacity * drawing.WIDTH / CPU)


@pytest.mark.parametrize(('used', 'share', 'filled'), [
    (0, 0, 0), (0, CPU, 0), (CPU // 2, CPU, 500), (CPU, CPU, 1000), (2 * CPU, CPU, 1000)])
def test_a_host_fills_as_much_of_its_bar_as_is_used(used, share, filled):
    assert drawing.filled(used, share) == filled
