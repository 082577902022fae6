# SPDX-License-Identifier: Apache-2.0
"""The tab of a server, rendered by Horizon."""

import re
import types

import pytest

from horizon_rt.tests.pages import told

UUID = told.SERVER
SERVER = {'server': UUID, 'name': 'web', 'project_id': told.PROJECT, 'status': 'active',
          'kind': 'machine', 'reservation': told.RESERVATION, 'pcpus': [0, 1, 3],
          'criticality': None}
WAITS = {'server': UUID, 'name': 'web', 'project_id': told.PROJECT, 'criticality': 'C',
         'place': 2, 'since': '2026-11-27T00:00:00Z', 'until': '2026-11-27T01:00:00Z',
         'reason': 'compute-1 lacks 5%.'}


@pytest.fixture
def tab(log_in):
    """Renders the tab of a server for a user with roles."""
    def render(*roles, fault=None, **services):
        # Once Horizon is set up.
        from django.test import RequestFactory
        from horizon import tabs
        from openstack_auth import utils

        from horizon_rt.tab import Reservation
        log_in(*roles, **services)
        request = RequestFactory().get('/project/instances/')
        request.user = utils.get_user(request)

        class Group(tabs.TabGroup):
            slug = 'details'
            tabs = (Reservation,)
        instance = types.SimpleNamespace(id=UUID, **({'fault': fault} if fault else {}))
        group = Group(request, instance=instance)
        found = group.get_tab('real_time')
        return found.render() if found else None
    return render


def says(cloud, **more):
    cloud.says('GET', f'/rt/servers/{UUID}', {**SERVER, **more})
    cloud.says('GET', f'/rt/servers/{UUID}/usage', {'pcpus': [
        {'pcpu': 3, 'enforced': told.HELD, 'used_us': 1_234, 'waited_us': 56, 'throttled': None,
         'overruns': None}]})


@pytest.fixture(autouse=True)
def _discovered(cloud):
    told.nothing(cloud)


def test_a_user_sees_what_her_server_has(tab, cloud):
    says(cloud)
    text = tab('member')
    for expected in ('30000 µs', '100000 µs', '30% of a pCPU', '0-1,3', 'machine'):
        assert expected in text
    assert '<dt>Host</dt>' not in text
    # Nothing else is asked for a server that runs.
    assert [path for _, path, *_ in cloud.asked if path != '/rt'] == [
        f'/rt/servers/{UUID}', f'/rt/servers/{UUID}/usage']


def test_a_user_sees_what_the_kernel_has_given(tab, cloud):
    says(cloud)
    text = tab('member')
    assert ('<th scope="row">3</th><td>30%</td><td>1234</td><td>56</td><td>–</td><td>–</td>'
            in text)


def test_a_host_that_does_not_tell_keeps_nothing_else_from_being_shown(tab, cloud):
    says(cloud)
    cloud.refuses('GET', f'/rt/servers/{UUID}/usage', 503, 'compute-1 does not answer.')
    text = tab('member')
    assert 'compute-1 does not answer.' in text
    assert '30000 µs' in text


def test_what_a_shrunk_server_is_owed_is_told(tab, cloud):
    assert 'has' not in _runtime(tab, cloud, None)
    assert 'it has 60000 µs again when there is room' in _runtime(tab, cloud, 60_000)


def _runtime(tab, cloud, owed_us):
    says(cloud, owed_us=owed_us)
    return re.search('<dt>Runtime</dt><dd>(.*?)</dd>', tab('member')).group(1)


def test_those_who_may_see_it_see_the_host(tab, cloud):
    says(cloud, host='compute-1')
    assert '<dt>Host</dt><dd>compute-1</dd>' in tab('admin')


def test_a_server_without_a_reservation_is_called_so(tab, cloud):
    says(cloud, reservation=None, pcpus=[])
    assert 'This server has no reservation' in tab('member')


def test_a_user_reads_the_fault_and_nothing_of_hosts(tab, cloud):
    says(cloud, status='error', pcpus=[])
    cloud.refuses('POST', '/rt/why', 403, 'Your roles do not allow rt:why.')
    text = tab('member', fault={'message': 'No host has room: 40% <b>lacks</b>.'})
    assert 'No host has room: 40% &lt;b&gt;lacks&lt;/b&gt;.' in text
    assert 'rt:why' not in text
    assert 'short of' not in text


def test_an_administrator_reads_what_each_host_is_short_of(tab, cloud):
    says(cloud, status='error', pcpus=[])
    reason = {'what': 'pCPUs', 'needed': '40%', 'left': '35%', 'missing': '5%'}
    cloud.says('POST', '/rt/why', {
        'reservation': told.RESERVATION, 'fault': '', 'waiting': None,
        'unreachable_cells': ['cell2'],
        'shortfalls': [{**reason, 'sentence': 'The quota is used up.'}],
        'hosts': [{'host': 'compute-1', 'fits': False, 'shortfalls': [
            {**reason, 'sentence': 'pCPU 0 lacks 5%.'}]},
            {'host': 'compute-2', 'fits': True, 'shortfalls': []}]})
    text = tab('admin')
    for expected in ('All hosts', 'The quota is used up.', 'compute-1', 'pCPU 0 lacks 5%.',
                     'The server fits now.', 'No answer came from the database of cell2'):
        assert expected in text


def test_a_server_that_waits_tells_its_place(tab, cloud):
    says(cloud, status='building', pcpus=[])
    cloud.refuses('POST', '/rt/why', 403, 'Your roles do not allow rt:why.')
    cloud.says('GET', '/rt/waiting', {'waiting': [{**WAITS, 'server': 'other'}, WAITS]})
    text = tab('member')
    assert 'It is number 2 of those who wait, since 2026-11-27T00:00:00Z' in text
    assert 'compute-1 lacks 5%.' in text


def test_an_api_that_is_away_or_refuses_is_a_sentence(tab, cloud):
    assert 'The API of nova-rt does not answer at the address' in tab('member', rt='http://127.0.0.1:9/rt')
    cloud.refuses('GET', f'/rt/servers/{UUID}', 404, 'There is no server.')
    assert 'There is no server.' in tab('member')


def test_there_is_no_tab_without_the_api(tab):
    assert tab('member', rt=None) is None


def test_an_older_api_without_the_question_is_a_sentence(tab, cloud):
    says(cloud, status='building', pcpus=[])
    cloud.refuses('GET', '/rt/waiting', 406, 'The newest version is 1.5.')
    assert 'id="waiting-trouble">The newest version is 1.5.' in tab('member')


def test_a_server_in_error_that_has_its_pcpus_is_asked_nothing_more(tab, cloud):
    says(cloud, status='error')
    assert 'short of' not in tab('admin', fault={'message': 'It did not reboot.'})
    assert cloud.requests('POST') == []


def test_a_server_without_a_reservation_is_asked_nothing_more(tab, cloud):
    says(cloud, status='error', reservation=None, pcpus=[])
    assert 'fits now' not in tab('admin')
    assert cloud.requests('POST') == []
