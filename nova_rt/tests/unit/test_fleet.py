# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import fitting
from nova_rt import fleet
from nova_rt.reservation import Reservation
from nova_rt.shares import HostShares
from nova_rt.tests.unit import strategies

CAP = strategies.CAP


def percent(share, vcpus=1):
    return Reservation(share * 1000, 100000, vcpus)


def empty(*sizes, **options):
    return fleet.Fleet({f'host{i}': HostShares.empty((CAP,) * size)
                        for i, size in enumerate(sizes)}, **options)


def test_one_host_does_as_figure_5_of_the_paper():
    cloud = empty(4)
    assert [cloud.add(*request).pcpus for request in (
        ('c1', percent(50, 2)), ('c2', percent(30)), ('c3', percent(40, 3)))
    ] == [(0, 1), (2,), (3, 2, 0)]
    with pytest.raises(fitting.NoRoomError, match=r'host0: 75% .* lacks 20%'):
        cloud.add('c4', percent(75))


def test_spread_takes_hosts_in_turn_and_pack_fills_one_after_the_other():
    for spread, expected in ((True, ['host0', 'host1', 'host0', 'host1']),
                             (False, ['host0', 'host0', 'host1', 'host1'])):
        cloud = empty(1, 1, spread=spread)
        assert expected == [
            cloud.add(f'c{i}', percent(40)).host for i in range(4)]


def test_spread_looks_at_the_fullest_pcpu_needed_and_not_at_the_sum():
    hosts = {'much': HostShares.empty((CAP, CAP, CAP // 2)),
             'even': HostShares.empty((CAP * 2 // 3,) * 3)}
    assert fleet.Fleet(hosts).add('c', percent(20, 3)).host == 'even'
    assert fleet.Fleet(hosts).add('c', percent(20, 2)).host == 'much'


def test_placement_policy_is_that_of_every_host():
    cloud = empty(3, policy='first-fit')
    assert cloud.add('c1', percent(10)).pcpus == (0,)
    assert cloud.add('c2', percent(10)).pcpus == (0,)


def test_refusal_is_that_of_the_host_that_comes_nearest():
    cloud = fleet.Fleet({'small': HostShares.empty((CAP // 4,)),
                         'large': HostShares.empty((CAP // 2,))})
    with pytest.raises(fitting.NoRoomError, match=r'^large: ') as miss:
        cloud.add('c', percent(80))
    assert miss.value.missing == percent(80).bandwidth - CAP // 2
    assert not cloud.placements


def test_fleet_without_hosts_has_no_room():
    with pytest.raises(fitting.NoRoomError, match='there is no host'):
        fleet.Fleet({}).add('c', percent(10))


def test_name_is_held_by_one_reservation_at_a_time():
    cloud = empty(2)
    cloud.add('c', percent(10))
    with pytest.raises(fleet.DuplicateReservationError, match='remove it first'):
        cloud.add('c', percent(20))
    cloud.remove('c')
    cloud.add('c', percent(20))
    assert cloud.placements['c'].wanted == percent(20)


def test_what_is_not_held_cannot_be_removed():
    with pytest.raises(fleet.UnknownReservationError, match='c'):
        empty(1).remove('c')


@given(strategies.hosts(), strategies.reservations())
def test_headroom_is_what_worst_fit_leaves_and_negative_if_nothing_fits(
        host, wanted):
    headroom = fleet.headroom(host, wanted)
    try:
        fitting.place(host, wanted, 'worst-fit')
    except fitting.NoRoomError:
        assert headroom < 0
    else:
        most = sorted(host.left, reverse=True)[:wanted.vcpus]
        assert headroom == most[-1] - wanted.bandwidth >= 0


names = st.sampled_from('abcdef')
operations = st.lists(
    st.tuples(names, st.none() | strategies.reservations(3)), max_size=30)


@given(operations, st.lists(st.integers(0, 4), min_size=1, max_size=3),
       strategies.policy_names, st.booleans())
def test_fleet_is_at_all_times_the_sum_of_its_placements(
        requests, sizes, policy, spread):
    cloud = empty(*sizes, policy=policy, spread=spread)
    start = dict(cloud.hosts)
    for name, wanted in requests:
        try:
            if wanted:
                cloud.add(name, wanted)
            else:
                cloud.remove(name)
        except (fitting.NoRoomError, fleet.DuplicateReservationError,
                fleet.UnknownReservationError):
            pass
        rebuilt = dict(start)
        for placed in cloud.placements.values():
            rebuilt[placed.host] = rebuilt[placed.host].add(
                placed.wanted, placed.pcpus)
        assert rebuilt == cloud.hosts
        assert all(left >= 0 for host in cloud.hosts.values()
                   for left in host.left)
    for name in list(cloud.placements):
        cloud.remove(name)
    assert cloud.hosts == start
