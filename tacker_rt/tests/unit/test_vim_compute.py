# SPDX-License-Identifier: Apache-2.0
"""What is asked of Nova and nova-rt, and what their answers mean.

Both are fakes that answer as the APIs do; the end-to-end tests have the real ones.
"""

import datetime
import types

from keystoneauth1 import exceptions as auth_errors
import pytest
from tacker.sol_refactored.common import http_client
from tacker.sol_refactored.infra_drivers.openstack import nova_utils

from nova_rt import reservation
from tacker_rt import vim_compute

NOW = datetime.datetime(2026, 11, 27, 1, 0, tzinfo=datetime.UTC)
SPECS = {'hw:cpu.rt_runtime_us': '30000', 'hw:cpu.rt_period_us': '100000'}
MOST = {'hw:cpu.rt_runtime_us': '60000', 'hw:cpu.rt_period_us': '100000'}

# Without this, Nova does not tell administrators of private flavors.
FLAVORS = 'GET flavors/detail?is_public=None'


def server(**different):
    return {'server': {
        'status': 'ACTIVE', 'OS-EXT-STS:task_state': None, 'metadata': {},
        'flavor': {'original_name': 'most', 'vcpus': 2, 'extra_specs': SPECS}, **different}}


class FakeApi:
    """Answers by method and path, and remembers what it was asked."""

    def __init__(self):
        self.answers = {
            'GET servers/s': (200, server()),
            FLAVORS: (200, {
                'flavors': [{'name': 'other', 'id': 'f1', 'vcpus': 1, 'extra_specs': {}}],
                'flavors_links': [{'rel': 'next'}]}),
            f'{FLAVORS}&marker=f1': (200, {
                'flavors': [{'name': 'most', 'id': 'f2', 'vcpus': 2, 'extra_specs': MOST}]}),
            'POST servers/s/metadata': (200, {'metadata': {}}),
            'PATCH servers/s/reservation': (200, {'server': 's'})}
        self.asked = []

    def do_request(self, path, method, headers=None, body=None):
        self.asked.append((f'{method} {path}', headers['OpenStack-API-Version'], body))
        answer = self.answers[f'{method} {path}']
        if isinstance(answer, Exception):
            raise answer
        return types.SimpleNamespace(status_code=answer[0]), answer[1]


@pytest.fixture
def api(monkeypatch):
    made = FakeApi()
    made.auth_handle = object()
    monkeypatch.setattr(nova_utils, 'NovaClient', lambda vim: types.SimpleNamespace(client=made))

    def client(auth_handle, service_type, timeout):
        assert (auth_handle, service_type) == (made.auth_handle, 'rt')
        return made
    monkeypatch.setattr(http_client, 'HttpClient', client)
    return made


@pytest.fixture
def compute(api):
    return vim_compute.Compute(object())


def test_a_server_has_what_it_shows_and_may_have_what_its_flavor_does(compute):
    shown = compute.show('s')
    assert shown.has == reservation.Reservation(30_000, 100_000, 2)
    assert shown.most == reservation.Reservation(60_000, 100_000, 2)
    assert (shown.status, shown.busy, shown.asked_at) == ('ACTIVE', False, None)


def test_a_flavor_that_is_gone_or_wrong_allows_nothing(api, compute):
    api.answers[FLAVORS] = 200, {'flavors': []}
    assert compute.show('s').most is None
    api.answers[FLAVORS] = 200, {'flavors': [{
        'name': 'most', 'id': 'f', 'vcpus': 2,
        'extra_specs': {**MOST, 'hw:cpu.rt_runtime_us': 'x'}}]}
    assert compute.show('s').most is None


def test_a_task_of_novas_is_seen(api, compute):
    api.answers['GET servers/s'] = 200, server(**{'OS-EXT-STS:task_state': 'rebooting'})
    assert compute.show('s').busy


def test_a_server_that_is_gone_is_none(api, compute):
    api.answers['GET servers/s'] = 404, {'itemNotFound': {'message': 'No', 'code': 404}}
    assert compute.show('s') is None


def test_a_mark_is_read_as_it_was_written(api, compute):
    compute.mark('s', NOW)
    assert api.asked[-1][0] == 'POST servers/s/metadata'
    api.answers['GET servers/s'] = 200, server(**api.asked[-1][2])
    assert compute.show('s').asked_at == NOW


@pytest.mark.parametrize('text', ['', 'yesterday', '2026-11-27T01:00:00'])
def test_a_mark_that_says_no_time_is_none(api, compute, text):
    api.answers['GET servers/s'] = 200, server(metadata={vim_compute.MARK: text})
    assert compute.show('s').asked_at is None


def test_a_runtime_is_set_by_nova_rts_own_api(api, compute):
    compute.set_runtime('s', 37_500)
    assert api.asked == [('PATCH servers/s/reservation', 'rt 1.1', {'runtime_us': 37_500})]


@pytest.mark.parametrize('status', [400, 403, 409])
def test_a_refusal_says_why(api, compute, status):
    api.answers['PATCH servers/s/reservation'] = status, {
        'errors': [{'detail': 'pCPU 0 lacks 25%.'}]}
    with pytest.raises(vim_compute.RefusedError, match=r'^pCPU 0 lacks 25%\.$'):
        compute.set_runtime('s', 37_500)


def test_a_cloud_without_our_api_refuses(api, compute):
    api.answers['PATCH servers/s/reservation'] = auth_errors.EndpointNotFound()
    with pytest.raises(vim_compute.RefusedError, match='no endpoint of type rt'):
        compute.set_runtime('s', 37_500)


@pytest.mark.parametrize('answer', [
    (503, {'errors': [{'detail': 'Its host does not answer.'}]}), (502, None), (500, 'text'),
    (200, None), auth_errors.ConnectFailure(), auth_errors.Unauthorized(), ValueError('<html>')])
def test_what_nobody_knows_is_no_refusal(api, compute, answer):
    api.answers['PATCH servers/s/reservation'] = answer
    api.answers['GET servers/s'] = answer
    api.answers['POST servers/s/metadata'] = answer
    for ask in (lambda: compute.set_runtime('s', 1), lambda: compute.show('s'),
                lambda: compute.mark('s', NOW)):
        with pytest.raises(vim_compute.UnansweredError, match=r'[.:]'):
            ask()


def test_nova_that_is_not_in_the_catalogue_is_no_crash(api, compute):
    api.answers['GET servers/s'] = auth_errors.EndpointNotFound()
    with pytest.raises(vim_compute.UnansweredError):
        compute.show('s')
