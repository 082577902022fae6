# SPDX-License-Identifier: Apache-2.0
"""Which hosts are told to have room once something is moved, and by which command."""

from unittest import mock

from nova import exception
from nova import objects
import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import moving
from nova_rt import reservation
from nova_rt import shares
from nova_rt import shortfalls
from nova_rt.defrag import planner
from nova_rt.explain import collect
from nova_rt.explain import pieces
from nova_rt.view import hosts

objects.register_all()

HELD = {'web': ledger.Holding(reservation.Reservation(40_000, 100_000, 1), (0,)),
        'db': ledger.Holding(reservation.Reservation(30_000, 100_000, 1), (1,))}
WANTED = reservation.Reservation(90_000, 100_000, 1)
PLENTY = {'VCPU': 8, shares.RESOURCE_CLASS: 8 << 20}
EMPTY = shares.HostShares.empty((bandwidth.BW_UNIT,) * 2)


def held(movable=True):
    return [hosts.Held(name, name, 'own', holding, movable) for name, holding in HELD.items()]


REPORTED = hosts.filled(EMPTY, held())


@pytest.fixture
def one(monkeypatch):
    """What servers hold on each host that is looked at."""
    one = mock.Mock(return_value=(
        mock.Mock(reported=REPORTED, moves=moving.Moving.ASKED), held()))
    monkeypatch.setattr(pieces.hosts, 'one', one)
    return one


def host(name='host1', reported=REPORTED):
    return shortfalls.Host(name, '', reported, PLENTY)


def told(*among, flavor='rt1', times=reservation.Times(), count=1):  # noqa: B008
    return pieces.moves_that_help(mock.sentinel.admin, among, collect.Question(
        shortfalls.Request(WANTED, {'VCPU': 1}, count=count), mock.Mock(), flavor, times))


def test_moves_are_told_with_the_command_that_shows_them(one):
    found = told(host())['host1']
    assert (found.what, found.sentence) == (
        'moves', 'Moving 1 vCPU (openstack rt defrag plan --host host1 --flavor rt1) would '
                 'make room.')


def test_a_host_that_makes_room_by_itself_is_told_to(one):
    one.return_value[0].moves = moving.Moving.REFUSED
    assert told(host())['host1'].sentence == (
        'If no host has room as it is, this one makes room by itself: it moves 1 vCPU '
        '([rt] defrag_on_refusal).')


def test_for_several_servers_at_once_no_host_makes_room_by_itself(one):
    one.return_value[0].moves = moving.Moving.REFUSED
    assert told(host(), count=2)['host1'].sentence == (
        'Moving 1 vCPU (openstack rt defrag plan --host host1 --flavor rt1) would make room.')


def test_a_host_makes_no_more_moves_by_itself_than_a_claim_does(one, monkeypatch):
    one.return_value[0].moves = moving.Moving.REFUSED
    monkeypatch.setattr(planner, 'AT_CLAIM', 0)
    assert told(host())['host1'].sentence == (
        'Moving 1 vCPU (openstack rt defrag plan --host host1 --flavor rt1) would make room, '
        'but by itself the host makes no more than 0 moves.')


def test_the_command_has_the_hints_and_a_name_as_a_shell_takes_it(one):
    found = told(host(), flavor='my flavor', times=reservation.Times(90_000, 100_000))['host1']
    assert ("--flavor 'my flavor' --hint cpu.rt_runtime_us=90000 "
            '--hint cpu.rt_period_us=100000') in found.sentence


def test_a_host_that_has_room_or_lacks_more_is_not_looked_at(one):
    full = EMPTY.add_all([(bandwidth.BW_UNIT, [0, 1])])
    assert told(host(reported=EMPTY)) == {}
    assert told(host(reported=None)) == {}
    one.assert_not_called()
    one.return_value = (mock.Mock(reported=full), [])
    assert told(host(reported=full)) == {}


def test_servers_that_stay_where_they_are_make_no_room(one):
    one.return_value = (mock.Mock(reported=REPORTED), held(movable=False))
    assert told(host()) == {}


@pytest.mark.parametrize('reported', [EMPTY, None])
def test_a_report_that_is_older_than_what_is_held_tells_nothing(one, reported):
    one.return_value = (mock.Mock(reported=reported), [])
    assert told(host()) == {}


def test_a_host_that_has_gone_is_left_out(one):
    one.side_effect = exception.ComputeHostNotFound(host='host1')
    assert told(host()) == {}


def test_of_many_hosts_those_with_the_most_left_are_looked_at(one):
    fuller = REPORTED.add_all([(bandwidth.BW_UNIT // 10, [0])])
    among = [host(f'host{number}', fuller if number < 5 else REPORTED)
             for number in range(pieces._MOST_HOSTS + 5)]
    assert set(told(*among)) == {each.name for each in among[5:]}
    assert one.call_count == pieces._MOST_HOSTS
