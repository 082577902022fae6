# SPDX-License-Identifier: Apache-2.0
"""The client of the API."""

import types

from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import noauth
from keystoneauth1 import session
from osc_lib import exceptions
import pytest
import requests

from nova_rt.osc import client
from nova_rt.osc import plugin

URL = 'http://controller/rt'


@pytest.fixture
def api():
    return client.Client(session.Session(auth=noauth.NoAuth(endpoint=URL)), '1')


def page(*hosts, after=None, unreachable=()):
    return {'json': {'hosts': list(hosts), 'next': after,
                     'unreachable_cells': list(unreachable)}}


def test_it_names_its_version_and_leaves_out_what_is_none(api, requests_mock):
    requests_mock.get(f'{URL}/servers', json={})
    api.get('/servers', host='a', marker=None)
    request = requests_mock.last_request
    assert request.qs == {'host': ['a']}
    assert request.headers['OpenStack-API-Version'] == 'rt latest'


def test_pages_are_asked_for_until_there_are_no_more(api, requests_mock):
    requests_mock.get(f'{URL}/hosts', [page('a', 'b', after='b'), page('c')])
    assert list(api.pages('/hosts', 'hosts')) == ['a', 'b', 'c']
    assert [request.qs for request in requests_mock.request_history] == [
        {}, {'marker': ['b']}]


def test_a_list_that_lacks_a_cell_is_not_shown_as_the_whole(api, requests_mock):
    requests_mock.get(f'{URL}/hosts', **page('a', unreachable=['cell2']))
    with pytest.raises(exceptions.CommandError, match='database of cell2'):
        list(api.pages('/hosts', 'hosts'))


@pytest.mark.parametrize(('named', 'asked'), [('1', '1.1'), ('1.0', '1.0'), ('1.7', '1.7')])
def test_a_change_asks_for_the_version_that_has_it_unless_one_is_named(
        named, asked, requests_mock):
    requests_mock.patch(f'{URL}/servers/a', json={'done': 'all'})
    api = client.Client(session.Session(auth=noauth.NoAuth(endpoint=URL)), named)
    assert api.patch('/servers/a', {'b': 1}, '1.1') == {'done': 'all'}
    request = requests_mock.last_request
    assert request.json() == {'b': 1}
    assert request.headers['OpenStack-API-Version'] == f'rt {asked}'


@pytest.mark.parametrize(('answer', 'sentence'), [
    ({'json': {'errors': [{'detail': 'There is no host.'}]}},
     r'There is no host. \(HTTP 404\)'),
    ({'text': '<html>', 'reason': 'Not Found'},
     r'The answer was "Not Found". \(HTTP 404\)'),
    ({'json': [], 'reason': 'Not Found'}, 'The answer was'),
])
def test_a_refusal_is_the_apis_own_sentence(api, requests_mock, answer, sentence):
    requests_mock.post(f'{URL}/why', status_code=404, **answer)
    with pytest.raises(exceptions.CommandError, match=sentence):
        api.post('/why', {})


def test_a_cloud_without_the_service_is_told():
    class Empty(noauth.NoAuth):
        def get_endpoint(self, *args, **kwargs):
            raise ks_exc.EndpointNotFound

    api = client.Client(session.Session(auth=Empty()), '1.0')
    with pytest.raises(exceptions.CommandError, match='has no service "rt"'):
        api.get('/hosts')


def test_a_connection_that_fails_is_told(api, requests_mock):
    requests_mock.get(f'{URL}/hosts', exc=requests.exceptions.ConnectionError)
    with pytest.raises(client.UndecidedError, match='The API of nova-rt does not answer'):
        api.get('/hosts')


@pytest.mark.parametrize('version', ['1', '1.0', '1.99'])
def test_a_version_that_the_api_may_have_is_left_to_it(version):
    assert plugin.check_api_version(version)


@pytest.mark.parametrize('version', ['0.9', '2', '1.', '1.0.0', 'latest', ''])
def test_a_version_that_no_command_knows_is_refused(version):
    with pytest.raises(exceptions.CommandError, match=r'give 1 or 1\.N'):
        plugin.check_api_version(version)


def test_the_client_is_made_of_what_the_openstack_client_has():
    made = plugin.make_client(types.SimpleNamespace(
        session=session.Session(), _api_version={'rt': '1.0'}, interface='public',
        region_name='RegionOne'))
    assert isinstance(made, client.Client)
