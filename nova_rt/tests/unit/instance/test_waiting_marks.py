# SPDX-License-Identifier: Apache-2.0
"""What is written down of those who wait, and of those who were shrunk for them."""

import json

from nova import objects
import pytest

from nova_rt import reservation
from nova_rt.criticality import Criticality
from nova_rt.instance import preempted
from nova_rt.instance import waiting

objects.register_all()

MARK = {'since_s': 1.0, 'until_s': 2.0, 'reason': 'No room.', 'criticality': 'C',
        'step': 'tried', 'holder': 'h', 'held_until_s': 9.0}


def parsed(mark):
    row = json.dumps({'nova_object.name': 'BlockDeviceMappingList',
                      'nova_rt_waiting': {'mark': mark, 'request': 'r'}})
    return list(waiting._parsed([('s', 'p', row)]))


def test_a_mark_is_read_as_it_was_written():
    each, = parsed(MARK)
    assert each.mark == waiting.Mark(
        1.0, 2.0, 'No room.', 'C', waiting.Step.TRIED, 'h', 9.0)
    row = waiting._with({}, each.mark, 'r')
    assert json.loads(row)['nova_rt_waiting'] == {'mark': MARK, 'request': 'r'}
    assert waiting.request_of(each) == 'r'


def test_what_a_later_release_has_written_more_is_left_aside():
    each, = parsed({**MARK, 'colour': 'red'})
    assert each.mark.reason == 'No room.'


@pytest.mark.parametrize('mark', [
    None, [], {}, {**MARK, 'step': 'x'}, {**MARK, 'criticality': 'D'}])
def test_what_cannot_be_read_is_left_out(mark):
    assert parsed(mark) == []


@pytest.mark.parametrize('row', ['', 'null', '[]', '{', '{"a": "nova_rt_waiting"}'])
def test_another_row_is_nobody_who_waits(row):
    assert list(waiting._parsed([('s', 'p', row)])) == []


def test_who_is_more_critical_or_waits_longer_is_first():
    def each(server, letter, since_s):
        return waiting.Waiting(server, 'p', waiting.Mark(since_s, 0, '', letter), '')

    everyone = [each('a', '', 1), each('b', 'A', 0), each('c', 'C', 9), each('d', 'C', 8)]
    assert [one.server for one in sorted(everyone, key=lambda one: one.rank)] == list('dcba')
    assert everyone[0].criticality is Criticality.A


def test_a_hold_is_over_after_its_time():
    mark = waiting.Mark(0, 0, '', holder='h', held_until_s=5.0)
    assert mark.held(4.9)
    assert not mark.held(5.0)
    assert not waiting.Mark(0, 0, '', held_until_s=5.0).held(0)


def test_what_a_shrunk_server_had_is_kept_when_it_is_shrunk_again():
    instance = objects.Instance(system_metadata={}, instance_type_id=7)
    first = preempted.shrunk(instance, {'hw:cpu.rt_runtime_us': ['70000']},
                             reservation.Reservation(70_000, 100_000, 1))
    instance.system_metadata[preempted.MARK] = first.to_text()
    again = preempted.shrunk(instance, {'cpu.rt_runtime_us': ['45000']},
                             reservation.Reservation(45_000, 90_000, 1))
    assert again == preempted.Mark(45_000, 90_000, 70_000, 7, '70000')
    assert preempted.from_text(again.to_text()) == again
    assert len(again.to_text()) < 255


def test_hints_are_as_they_were():
    hints = {'cpu.rt_runtime_us': ['45000'], 'group': ['g']}
    assert preempted.former_hints(hints, preempted.Mark(1, 2, 3, 4)) == {'group': ['g']}
    assert preempted.former_hints(hints, preempted.Mark(1, 2, 3, 4, '7')) == {
        'group': ['g'], 'cpu.rt_runtime_us': ['7']}


@pytest.mark.parametrize('text', ['x', '[]', '{}', 'null', '{"was_us": 1}'])
def test_a_mark_of_a_shrunk_server_that_cannot_be_read_is_none(text):
    assert preempted.mark_of(objects.Instance(
        uuid='12345678-1234-4234-8234-123456789012',
        system_metadata={preempted.MARK: text})) is None
