# SPDX-License-Identifier: Apache-2.0
"""What a handler may not show."""

from unittest import mock

import pytest

from nova_rt import policies
from nova_rt.instance import compute_call
from nova_rt.instance import usage_request
from nova_rt.rest import endpoints
from nova_rt.rest import errors
from nova_rt.rest import microversions
from nova_rt.rest.handlers import servers


@pytest.mark.parametrize(('own', 'asked'), [('a', 'b'), (None, None), (None, 'b')])
def test_who_does_not_see_all_projects_sees_none_but_the_own(own, asked):
    policy = mock.Mock(**{'allows.return_value': False})
    call = endpoints.Call(
        microversions.VERSIONS[-1], mock.Mock(project_id=own), policy, {},
        {'limit': 1, 'project_id': asked}, {})
    with mock.patch('nova_rt.view.servers.page') as page, pytest.raises(
            errors.ForbiddenError, match='your own project only'):
        servers.list_servers(call)
    page.assert_not_called()


@pytest.mark.parametrize('kind', [compute_call.RefusedError, compute_call.UnansweredError])
@pytest.mark.parametrize(('allowed', 'said'), [
    (set(), 'its host'), ({policies.SERVERS_HOST}, 'compute-7')])
def test_who_may_not_see_hosts_is_told_none_where_usage_cannot_be_had(
        monkeypatch, kind, allowed, said):
    monkeypatch.setattr(servers, 'named', lambda call: mock.Mock(uuid='u', host='compute-7'))
    monkeypatch.setattr(usage_request, 'ask', mock.Mock(
        side_effect=kind('nova-rt-compute on compute-7 does not answer.')))
    policy = mock.Mock(allows=lambda context, rule, project=None: rule in allowed)
    with pytest.raises(errors.RefusedError) as refused:
        servers.show_usage(endpoints.Call(
            microversions.VERSIONS[-1], mock.Mock(), policy, {'server': 'u'}, {}, {}))
    assert str(refused.value) == f'nova-rt-compute on {said} does not answer.'
