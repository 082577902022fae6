# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import shares
from nova_rt.reservation import Reservation
from nova_rt.shares import HostShares
from nova_rt.shares import Occupancy
from nova_rt.tests.unit import strategies

vectors = st.lists(st.sampled_from((0, 1, 524288, 996147)) |
                   st.integers(-10, 1 << 20), max_size=40)


def test_chosen_pcpus_alone_are_occupied_when_the_kernel_can():
    host = HostShares.empty((100, 100, 100)).add(
        Reservation(100, 1 << 20, 2), (2, 0))
    assert host.used == host.pinned == (100, 0, 100)
    assert host.left == (0, 100, 0)


def test_every_pcpu_is_occupied_when_the_kernel_cannot_choose():
    host = HostShares.empty((200, 0, 200), Occupancy.EVERY).add(
        Reservation(100, 1 << 20, 1), (2,))
    assert host.used == (100, 100, 100)
    assert host.pinned == (0, 0, 100)
    assert host.left == (100, -100, 100)


def test_least_that_any_pcpu_has_is_left_when_every_pcpu_is_occupied():
    host = HostShares.empty((300, 0, 200), Occupancy.EVERY)
    assert host.left == (200, 0, 200)
    assert HostShares.empty((0, 0), Occupancy.EVERY).left == (0, 0)


def test_shares_count_only_pcpus_that_may_hold_reservations():
    host = HostShares.empty((200, 0, 200), Occupancy.EVERY).add(
        Reservation(100, 1 << 20, 1), (0,))
    assert (host.rt_share, host.rt_share_used) == (400, 200)


def pcpus_of(host):
    return st.sets(st.sampled_from(range(len(host.used)))
                   if host.used else st.nothing())


@given(strategies.hosts(), strategies.reservations(), st.data())
def test_removing_what_was_added_restores_the_host(host, wanted, data):
    pcpus = data.draw(pcpus_of(host))
    assert host.add(wanted, pcpus).remove(wanted, pcpus) == host


@given(strategies.hosts(), *[strategies.reservations()] * 2, st.data())
def test_order_of_additions_does_not_matter(host, one, other, data):
    here, there = data.draw(pcpus_of(host)), data.draw(pcpus_of(host))
    assert (host.add(one, here).add(other, there)
            == host.add(other, there).add(one, here))


@given(strategies.hosts(), st.lists(strategies.reservations(), max_size=5),
       st.data())
def test_many_additions_at_once_are_the_same_as_one_by_one(
        host, several, data):
    changes = [(reserved, data.draw(pcpus_of(host))) for reserved in several]
    one_by_one = host
    for wanted, pcpus in changes:
        one_by_one = one_by_one.add(wanted, pcpus)
    assert one_by_one == host.add_all(
        (wanted.bandwidth, pcpus) for wanted, pcpus in changes)


@given(strategies.hosts())
def test_stats_bring_back_what_decides_whether_something_fits(host):
    back = shares.from_stats(shares.to_stats(host))
    assert back.capacity == host.capacity
    assert back.used == host.used
    assert back.occupancy == host.occupancy
    assert back.left == host.left


@given(vectors, vectors)
def test_stats_hold_any_two_vectors_of_equal_length(capacity, used):
    size = min(len(capacity), len(used))
    host = HostShares(
        tuple(capacity[:size]), tuple(used[:size]), tuple(used[:size]))
    stats = shares.to_stats(host)
    assert all(isinstance(value, str) for value in stats.values())
    assert shares.from_stats(stats) == host


def test_stats_tell_the_shares_and_write_runs_once():
    host = HostShares(
        (996147,) * 64, (0, 0, 512) + (0,) * 61, (0,) * 64)
    assert shares.to_stats(host) == {
        'rt_share': str(64 * 996147), 'rt_share_used': '512',
        'rt_capacity': '996147*64', 'rt_used': '0*2,512,0*61',
        'rt_sizes': '0*129', 'rt_occupancy': 'chosen'}


def test_stats_write_no_runs_where_they_would_be_slow_to_read():
    host = HostShares((5,) * 6, (1, 1, 2, 2, 3, 4), (0,) * 6)
    stats = shares.to_stats(host)
    assert stats['rt_used'] == '1,1,2,2,3,4'
    assert stats['rt_capacity'] == '5*6'


def test_sizes_of_which_no_policy_makes_use_are_not_sent():
    wanted = Reservation(50_000, 100_000, 2)
    host = HostShares.empty((996147,) * 2).add(wanted, (0, 1))
    assert host.sizes[64] == sum(host.sizes) == 2
    assert shares.from_stats(shares.to_stats(host)) == host
    stats = shares.to_stats(host, with_sizes=False)
    assert sum(shares.from_stats(stats).sizes) == 0
    del stats['rt_sizes']
    assert sum(shares.from_stats(stats).sizes) == 0


def test_stats_of_256_pcpus_that_all_differ_stay_below_two_kilobytes_each():
    host = HostShares(
        tuple(996147 - i for i in range(256)),
        tuple(524288 + i for i in range(256)), (0,) * 256)
    for value in shares.to_stats(host).values():
        assert len(value) < 2048


def test_stats_without_our_entries_describe_no_host():
    assert shares.from_stats({}) is None
    assert shares.from_stats({'num_instances': '3'}) is None


@pytest.mark.parametrize(('changed', 'words'), [
    ({'rt_used': '1,2,3'}, 'differ in length'), ({'rt_used': 'x'}, "'x'"),
    ({'rt_used': '1,,2'}, "''"), ({'rt_capacity': '5*x'}, "'x'"),
    ({'rt_occupancy': 'some'}, "'some'"), ({'rt_sizes': '1,2'}, '2 numbers'),
    ({'rt_sizes': '1,x'}, "'x'")])
def test_stats_that_are_damaged_are_refused(changed, words):
    stats = shares.to_stats(HostShares.empty((5, 5)))
    with pytest.raises(ValueError, match=words):
        shares.from_stats({**stats, **changed})


def test_a_pcpu_that_the_host_has_lost_is_passed_over():
    host = HostShares.empty([1 << 20] * 2)
    wanted = Reservation(50_000, 100_000, 2)
    assert host.add(wanted, (1, 7)).used == (0, 1 << 19)
