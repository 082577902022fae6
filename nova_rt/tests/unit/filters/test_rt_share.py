# SPDX-License-Identifier: Apache-2.0
from nova import exception
from nova import objects
from nova.scheduler import host_manager
from nova.scheduler import weights
from oslo_config import cfg
import pytest

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import reservation
from nova_rt import shares
from nova_rt.filters import rt_share_filter
from nova_rt.filters import rt_share_weigher

objects.register_all()

CAP = bandwidth.fraction_to_bandwidth(0.95)


def a_host(name='host1', used=(0, 0, 0, 0), cap=CAP, num_instances=0,
           placed=0, occupancy=shares.Occupancy.CHOSEN, **stats):
    """Return a host with used percents by pCPU, and servers just placed."""
    host = host_manager.HostState(name, name, None)
    vector = tuple(bandwidth.to_bandwidth(percent, 100) for percent in used)
    told = shares.HostShares((cap,) * len(used), vector, vector, occupancy)
    host.stats = dict(shares.to_stats(told),
                      num_instances=str(num_instances), **stats)
    host.num_instances = num_instances + placed
    return host


def a_request(percent, vcpus, hints=None, servers=1):
    return objects.RequestSpec(
        flavor=objects.Flavor(vcpus=vcpus, extra_specs={
            reservation.EXTRA_SPEC_PREFIX + reservation.RUNTIME:
                str(percent * 1000),
            reservation.EXTRA_SPEC_PREFIX + reservation.PERIOD: '100000'}),
        scheduler_hints=hints or {}, num_instances=servers)


def passed(hosts, request):
    return [host.host for host in
            rt_share_filter.RTShareFilter().filter_all(hosts, request)]


def refusal(hosts, request):
    with pytest.raises(exception.NoValidHost) as refused:
        passed(hosts, request)
    return str(refused.value)


def test_hosts_with_room_on_every_pcpu_needed_pass():
    hosts = [a_host('a', (90, 50, 70, 40)), a_host('b', (20, 20, 95, 95))]
    assert passed(hosts, a_request(75, 2)) == ['b']


def test_the_nearest_miss_is_told_when_no_host_passes():
    hosts = [a_host('a', (90, 90)), a_host('b', (30, 95)),
             a_host('c', (60, 60))]
    assert 'No room on b: ' in refusal(hosts, a_request(75, 1))
    assert 'lacks 10%' in refusal(hosts, a_request(75, 1))


def test_servers_placed_by_the_same_request_are_counted():
    assert 'lacks 25%' in refusal([a_host(placed=1)], a_request(60, 3))
    assert passed([a_host(placed=1)], a_request(60, 2)) == ['host1']


def test_what_was_counted_once_is_counted_on():
    host, request = a_host(), a_request(45, 4)
    rt_filter = rt_share_filter.RTShareFilter()
    for placed, passes in enumerate([[host], [host], []]):
        host.num_instances = placed
        assert rt_filter.filter_all([host], request) == passes


def test_once_a_server_may_be_placed_the_rest_is_left_to_nova():
    # Its host may be one that another filter takes out from then on.
    rt_filter = rt_share_filter.RTShareFilter()
    request = a_request(60, 4, servers=2)
    rt_filter.filter_all([a_host('a'), a_host('b')], request)
    assert rt_filter.filter_all([a_host('full', (50,) * 4)], request) == []
    assert 'No room on full' in refusal(
        [a_host('full', (50,) * 4)], a_request(60, 4))


def test_a_request_for_more_than_fit_is_refused_before_any_is_placed():
    hosts = [a_host('a'), a_host('b', (60, 60, 60, 60))]
    told = refusal(hosts, a_request(45, 4, servers=5))
    assert '5 servers are wanted, but only 2 of them fit' in told


def test_a_moved_server_is_one_however_many_it_was_created_with():
    request = a_request(60, 4, servers=5)
    request.requested_destination = objects.Destination(
        cell=objects.CellMapping())
    assert passed([a_host()], request) == ['host1']


@pytest.mark.parametrize('stats', [
    {'rt_used': 'x'}, {'rt_used': '0'}, {'rt_occupancy': 'none'}])
def test_a_host_whose_stats_cannot_be_read_is_passed_over(stats):
    broken = a_host('a')
    broken.stats.update(stats)
    assert passed([broken, a_host('b')], a_request(10, 1)) == ['b']


def test_a_host_without_nova_rt_is_passed_over():
    plain = a_host('a')
    plain.stats = {'num_instances': '0'}
    assert passed([plain, a_host('b')], a_request(10, 1)) == ['b']
    assert 'a offers no CPU reservations' in refusal(
        [plain], a_request(10, 1))


def test_a_host_that_has_not_reported_yet_is_passed_over_and_left_to_nova_without_a_reservation():
    new = host_manager.HostState('a', 'a', None)
    assert passed([new, a_host('b')], a_request(10, 1)) == ['b']
    assert 'a offers no CPU reservations' in refusal([new], a_request(10, 1))
    plain = objects.RequestSpec(
        flavor=objects.Flavor(vcpus=1, extra_specs={}), scheduler_hints={}, num_instances=1)
    assert passed([new], plain) == ['a']
    weigher = rt_share_weigher.RTShareWeigher()
    assert len(weigh(weigher, [new, a_host('b')], a_request(10, 1))) == 2


def test_where_every_pcpu_is_occupied_the_fullest_decides():
    host = a_host(used=(50, 50, 50, 50), occupancy=shares.Occupancy.EVERY)
    assert passed([host], a_request(45, 4)) == ['host1']
    assert 'lacks 5%' in refusal([host], a_request(50, 1))


def test_a_smaller_cap_over_running_servers_leaves_less_than_nothing():
    host = a_host(used=(80, 80), cap=bandwidth.to_bandwidth(1, 2))
    assert 'has -30% left and lacks 40%' in refusal([host], a_request(10, 1))


def test_hints_override_the_flavor():
    host = a_host(used=(50, 50))
    request = a_request(60, 1, {'cpu.rt_runtime_us': ['40000']})
    assert passed([host], request) == ['host1']


def weigh(weigher, hosts, request):
    return weigher.weigh_objects(
        [weights.WeighedHost(host, 0) for host in hosts], request)


@pytest.mark.parametrize(('preference', 'first'),
                         [('spread', 'empty'), ('pack', 'full')])
def test_the_weigher_prefers(preference, first):
    weigher = rt_share_weigher.RTShareWeigher()
    cfg.CONF.set_override('host_preference', preference, group='rt')
    try:
        hosts = [a_host('full', (50, 50, 0, 0)), a_host('empty')]
        weighed = {host.host: weigher.weight_multiplier(host) * weight
                   for host, weight in zip(hosts, weigh(
                       weigher, hosts, a_request(30, 3)), strict=True)}
    finally:
        cfg.CONF.clear_override('host_preference', group='rt')
    assert max(weighed, key=weighed.get) == first


def test_the_weigher_weighs_all_the_same_without_a_reservation():
    weigher = rt_share_weigher.RTShareWeigher()
    plain = objects.RequestSpec(flavor=objects.Flavor(
        vcpus=1, extra_specs={}), scheduler_hints={})
    assert weigh(weigher, [a_host(), a_host(used=(9, 9))], plain) == [0, 0]


def asking(letter, percent=30, **kwargs):
    request = a_request(percent, 1, **kwargs)
    if letter:
        request.flavor.extra_specs[criticality.EXTRA_SPEC] = letter
    return request


@pytest.mark.parametrize(('letter', 'hosts'), [
    (None, ['ab', 'old']), ('A', ['ab', 'old']), ('B', ['ab', 'old']), ('C', ['c', 'old'])])
def test_hosts_pass_that_take_the_criticality(letter, hosts):
    assert passed([a_host('ab', rt_criticalities='A,B'), a_host('c', rt_criticalities='C'),
                   a_host('old')], asking(letter)) == hosts


def test_a_criticality_that_no_host_takes_is_told():
    assert refusal([a_host('x', rt_criticalities='A,B')], asking('C')) == (
        'No valid host was found. x takes servers of criticality A and B only, and this one '
        'is C.')


def test_a_host_whose_criticalities_cannot_be_read_takes_none():
    assert passed([a_host('a', rt_criticalities='Z'), a_host('b')], asking('A')) == ['b']


def test_a_server_that_stays_through_a_rebuild_stays_though_its_host_no_longer_takes_it():
    request = asking('C')
    request.scheduler_hints = {'_nova_check_type': ['rebuild']}
    assert passed([a_host('x', rt_criticalities='A,B')], request) == ['x']


def test_a_host_does_not_pass_by_itself_either():
    rt_filter = rt_share_filter.RTShareFilter()
    assert not rt_filter.host_passes(a_host(rt_criticalities='A,B'), asking('C'))
    assert rt_filter.host_passes(a_host(rt_criticalities='A,B'), asking('B'))


@pytest.mark.parametrize('preference', ['spread', 'pack'])
@pytest.mark.parametrize(('letter', 'first'), [('A', 'full'), ('B', 'half'), ('C', 'empty')])
def test_a_criticality_ranks_hosts_whatever_the_preference(preference, letter, first):
    weigher = rt_share_weigher.RTShareWeigher()
    cfg.CONF.set_override('host_preference', preference, group='rt')
    try:
        hosts = [a_host('empty'), a_host('half', (40,) * 4), a_host('full', (60,) * 4)]
        weighed = {host.host: weigher.weight_multiplier(host) * weight
                   for host, weight in zip(hosts, weigh(
                       weigher, hosts, asking(letter)), strict=True)}
    finally:
        cfg.CONF.clear_override('host_preference', group='rt')
    assert max(weighed, key=weighed.get) == first


@pytest.mark.parametrize(('name', 'value'), [
    ('criticality_b_rise', [1.0]), ('criticality_b_fall', [1.0, 2.0]),
    ('criticality_b_fall', ['x', 1.0, 2.0]), ('criticality_b_turn', 1.5),
    ('criticalities', []), ('criticalities', ['D']), ('criticalities', ['A'] * 4)])
def test_an_option_that_makes_no_sense_is_refused(name, value):
    sentence = r'give \d to \d values|could not convert|[Vv]alid val|less than|max'
    with pytest.raises(ValueError, match=sentence):
        cfg.CONF.set_override(name, value, group='rt')
