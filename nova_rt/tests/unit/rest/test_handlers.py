# SPDX-License-Identifier: Apache-2.0
"""What a handler may not show."""

from unittest import mock

import pytest

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
