# SPDX-License-Identifier: Apache-2.0
"""Who may give a server which reservation, and how refusals are told."""

from unittest import mock

from nova import exception
from nova import objects
import nova.conf
import pytest

from nova_rt import conf
from nova_rt import policies
from nova_rt import reservation
from nova_rt.instance import compute_call
from nova_rt.instance import hint_update
from nova_rt.rest import endpoints
from nova_rt.rest import errors
from nova_rt.rest import microversions
from nova_rt.rest.handlers import reservations

objects.register_all()
conf.register_opts(nova.conf.CONF)

UUID = '12345678-1234-4234-8234-123456789012'
HAS = reservation.Reservation(30_000, 100_000, 2)
FLAVOR = {'hw:cpu.rt_runtime_us': '50000', 'hw:cpu.rt_period_us': '100000'}
USER = {policies.SERVERS_SET}


@pytest.fixture
def change(monkeypatch):
    """What changes it on its host."""
    monkeypatch.setattr(reservations.servers, 'named', lambda call: mock.Mock(
        uuid=UUID, project='own', host='compute-7', wanted=HAS))
    monkeypatch.setattr(reservations.servers, 'show_server', lambda call: {'server': UUID})
    changed = mock.Mock()
    monkeypatch.setattr(hint_update, 'change', changed)
    return changed


@pytest.fixture
def flavor(monkeypatch):
    """Give the server's flavor other extra specs."""
    def flavor(specs):
        monkeypatch.setattr(reservations.holdings, 'find', lambda context, uuid: mock.Mock(
            **{'flavor.flavorid': 'rt'}))
        monkeypatch.setattr(
            reservations.objects.Flavor, 'get_by_flavor_id',
            lambda context, flavorid: {'rt': mock.Mock(extra_specs=specs, vcpus=HAS.vcpus)}[
                flavorid])
    flavor(FLAVOR)
    return flavor


def ask(allowed, **body):
    policy = mock.Mock(allows=lambda context, rule, project=None: rule in allowed)
    return reservations.change(endpoints.Call(
        microversions.VERSIONS[-1], mock.Mock(), policy, {'server': UUID}, {}, body))


@pytest.mark.parametrize('body', [
    {}, {'runtime_us': 50_000}, {'period_us': 60_000}, {'runtime_us': 25_000, 'period_us': 50_000}])
def test_a_user_may_go_to_the_bandwidth_of_the_flavor(change, flavor, body):
    assert ask(USER, **body) == {'server': UUID}
    (_, server, times, _, _) = change.call_args.args
    assert server == UUID
    assert HAS.with_times(times) == HAS.with_times(reservation.Times(**body))


@pytest.mark.parametrize('body', [
    {'runtime_us': 50_001}, {'period_us': 59_999}, {'runtime_us': 26_000, 'period_us': 50_000}])
def test_but_not_beyond_it(change, flavor, body):
    with pytest.raises(errors.ForbiddenError, match='reserves 50% for each vCPU'):
        ask(USER, **body)
    change.assert_not_called()
    ask(USER | {policies.SERVERS_SET_BEYOND}, **body)
    change.assert_called_once()


def test_changes_that_come_together_do_not_go_beyond_it_together(change, flavor):
    for body in {'runtime_us': 50_000}, {'period_us': 60_000}:
        ask(USER, **body)
    has = HAS
    for each in change.call_args_list:
        has = has.with_times(each.args[2])
    assert has == reservation.Reservation(30_000, 60_000, HAS.vcpus)


@pytest.mark.parametrize('specs', [{}, {'hw:cpu.rt_period_us': '100000'}])
def test_a_flavor_without_a_reservation_lets_a_user_change_nothing(change, flavor, specs):
    flavor(specs)
    with pytest.raises(errors.ForbiddenError, match='reserves 0% for each vCPU'):
        ask(USER, runtime_us=2)
    change.assert_not_called()


def test_a_flavor_that_is_no_more_allows_what_the_server_has(change, monkeypatch):
    own = mock.Mock(extra_specs=FLAVOR, vcpus=HAS.vcpus)
    monkeypatch.setattr(reservations.holdings, 'find', lambda context, uuid: mock.Mock(flavor=own))
    monkeypatch.setattr(reservations.objects.Flavor, 'get_by_flavor_id', mock.Mock(
        side_effect=exception.FlavorNotFound(flavor_id='rt')))
    with pytest.raises(errors.ForbiddenError, match='reserves 50% for each vCPU'):
        ask(USER, runtime_us=50_001)
    ask(USER, runtime_us=50_000)
    change.assert_called_once()


def test_whose_server_it_is_decides_who_may(change):
    with pytest.raises(errors.ForbiddenError, match='do not allow rt:servers:set for this'):
        ask(set(), runtime_us=2)
    change.assert_not_called()


def test_what_would_be_invalid_is_refused_before_anything_is_done(change, flavor):
    with pytest.raises(errors.RefusedError, match='longer than the period') as refused:
        ask(USER, runtime_us=100_001)
    assert refused.value.status == 400
    change.assert_not_called()


@pytest.mark.parametrize(('error', 'status'), [
    (compute_call.RefusedError('No room.'), 409),
    (compute_call.UnansweredError('Nothing from compute-7.'), 503),
    (reservation.InvalidReservationError('Above the cap.'), 400)])
def test_what_the_host_says_is_passed_on(change, error, status):
    change.side_effect = error
    with pytest.raises(errors.RefusedError, match=str(error)) as refused:
        ask({*USER, policies.SERVERS_SET_BEYOND, policies.SERVERS_HOST}, runtime_us=2)
    assert refused.value.status == status


@pytest.mark.parametrize('kind', [compute_call.RefusedError, compute_call.UnansweredError])
def test_who_may_not_see_hosts_is_told_no_host(change, flavor, kind):
    change.side_effect = kind('No room on compute-7 for it.')
    with pytest.raises(errors.RefusedError, match='No room on its host for it'):
        ask(USER, runtime_us=2)
