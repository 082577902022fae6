# SPDX-License-Identifier: Apache-2.0
"""A small cloud that an operator looks at."""

from unittest import mock

import fixtures
import jsonschema
from nova import context as nova_context
from nova.tests.functional.api import client
from oslo_serialization import jsonutils
import webob

from nova_rt import criticality
from nova_rt.rest import routes
from nova_rt.rest import schemas
from nova_rt.testing import cloud

OTHER_PROJECT = 'a0000000-0000-4000-8000-000000000001'


class OperatorsCloud(cloud.CloudTestCase):
    """Two hosts of four pCPUs.

    web (30% on each of two vCPUs) and db (40%, by a hint, criticality B) are on host1; batch, of
    another project, is on host2 with 50% on one; large finds no room anywhere.
    """

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'nova.api.auth.NovaKeystoneContext._create_context', caller))
        for host in ('host1', 'host2'):
            self.start(host)
        self.flavor = self.make_flavor(30, 2)
        self.web = self.boot(self.flavor, name='web', az='nova:host1')
        self.db = self.boot(self.flavor, name='db', az='nova:host1',
                            hints={'cpu.rt_runtime_us': '40000', criticality.NAME: 'B'})
        other = client.TestOpenStackClient(
            'admin', self.api_fixture.base_url, project_id=OTHER_PROJECT,
            roles=['reader', 'member', 'admin'])
        other.microversion = self.api.microversion
        with mock.patch.object(self, 'api', other):
            self.batch = self.boot(
                self.make_flavor(50, 1), name='batch', az='nova:host2')
        self.large = self.boot(self.make_flavor(80, 4), state='ERROR', name='large')
        # Each periodic update reports what the claims left.
        self._run_periodics()


def caller(environ, **kwargs):
    """Return the context that headers describe, as keystonemiddleware's would."""
    return nova_context.RequestContext(
        environ['HTTP_X_AUTH_USER'], environ.get('HTTP_X_AUTH_PROJECT_ID'),
        roles=environ['HTTP_X_ROLES'].split(','),
        system_scope=environ.get('HTTP_X_SYSTEM_SCOPE'), **kwargs)


class Checked:
    """A WSGI application whose answers must be as the API's documentation says."""

    def __init__(self, application):
        self._application = application

    def __call__(self, environ, start_response):
        answer = webob.Request(environ).get_response(self._application)
        self._check(webob.Request(environ), answer)
        return answer(environ, start_response)

    def _check(self, request, answer):
        endpoint = endpoint_of(request)
        if endpoint is None or answer.status_code == 401:
            return
        documented = {200, 400, 403, 406, 503, *endpoint.refusals}
        assert answer.status_code in documented, answer
        schema = endpoint.answer if answer.status_code == 200 else schemas.ERROR
        jsonschema.validate(jsonutils.loads(answer.text), schema)


def endpoint_of(request):
    """Return the endpoint that answers a request, None if there is none."""
    parts = request.path.removeprefix('/rt').split('/')
    for endpoint in routes.ENDPOINTS:
        pattern = endpoint.path.split('/')
        if endpoint.method == request.method and len(pattern) == len(parts) and all(
                name == part or (name.startswith('{') and part)
                for name, part in zip(pattern, parts, strict=True)):
            return endpoint
    return None
