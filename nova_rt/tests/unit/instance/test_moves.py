# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt.instance import moves
from nova_rt.tests.unit.instance.servers import HERE
from nova_rt.tests.unit.instance.servers import migration
from nova_rt.tests.unit.instance.servers import server
from nova_rt.tests.unit.instance.servers import THERE

ELSEWHERE = ('host3', 'node3')
# pCPUs 0 and 1, 2 and 3, 4 and 5.
OWN, OLD, NEW = '3', 'c', '30'
SIDES = {'old_rt_pcpus': OLD, 'new_rt_pcpus': NEW}


def brief(holding):
    """Return a holding as runtime in percent and lowest pCPU."""
    return holding and (holding.reservation.runtime_us // 1000,
                        min(holding.pcpus))


# What a server is like, from where to where it moves, and what it then holds on
# HERE: its own, and a side of its move.
TABLE = {
    'resized away, still here': (
        {'old': 30, 'new': 50}, (HERE, THERE), (30, 0), None),
    'resized away, has left': (
        {'old': 30, 'new': 50, 'place': THERE}, (HERE, THERE), None, (30, 2)),
    'resized to here, still there': (
        {'old': 30, 'new': 50, 'place': THERE}, (THERE, HERE), None, (50, 4)),
    'resized to here, has arrived': (
        {'old': 30, 'new': 50}, (THERE, HERE), None, (50, 4)),
    'resized within the host, old flavor': (
        {'old': 30, 'new': 50}, (HERE, HERE), (30, 0), (50, 4)),
    'resized within the host, new flavor': (
        {'percent': 50, 'old': 30, 'new': 50, 'switched': True},
        (HERE, HERE), (50, 0), (30, 2)),
    'resized in place, grows': (
        {'old': 30, 'new': 50, 'rt_in_place': 'resize'},
        (HERE, HERE), (50, 4), None),
    'resized in place, shrinks': (
        {'old': 30, 'new': 10, 'rt_in_place': 'resize'},
        (HERE, HERE), (30, 0), None),
    'changed by hint after its move away failed': (
        {'new': 50, 'rt_in_place': 'hint'}, (HERE, THERE), (50, 4), None),
    'changed by hint after its move to here failed': (
        {'new': 50, 'rt_in_place': 'hint', 'place': THERE},
        (THERE, HERE), None, None),
    'moves between other hosts': (
        {'old': 30, 'new': 50, 'place': THERE},
        (THERE, ELSEWHERE), (30, 0), None),
}


@pytest.mark.parametrize('case', TABLE)
def test_what_a_moving_server_holds_here(case):
    values, (source, destination), own, move = TABLE[case]
    instance = server(moved=True, rt_pcpus=OWN, **SIDES, **values)
    held = moves.sides(instance, migration(source, destination), HERE)
    assert tuple(map(brief, held)) == (own, move)


@pytest.mark.parametrize(('place', 'own'), [(HERE, (30, 0)), (THERE, None)])
@pytest.mark.parametrize('values', [
    {'moved': False, **SIDES}, {'moved': True}],
    ids=['moved by another migration', 'claimed nothing'])
def test_a_migration_that_does_not_move_the_server_changes_nothing(
        place, own, values):
    instance = server(place=place, rt_pcpus=OWN, old=30, new=50, **values)
    held = moves.sides(instance, migration(), HERE)
    assert tuple(map(brief, held)) == (own, None)


def test_both_sides_of_a_migration_have_the_one_flavor():
    instance = server(place=THERE, moved=True, rt_pcpus=OWN, **SIDES)
    moved = migration(kind='migration')
    assert tuple(map(brief, moves.sides(instance, moved, HERE))) == (
        None, (30, 2))
    assert tuple(map(brief, moves.sides(instance, moved, THERE))) == (
        None, (30, 4))
