# SPDX-License-Identifier: Apache-2.0
"""What the filter does not judge is answered as if it were not there."""

from unittest import mock

from nova import context as nova_context
from nova import objects
from nova.policies import servers as server_policies
from oslo_db import exception as db_exception
from oslo_serialization import jsonutils
from paste import deploy
import sqlalchemy.exc
import webob

from nova_rt.api import paste_ini
from nova_rt.testing import cases
from nova_rt.testing.cases import PERIOD
from nova_rt.testing.cases import RUNTIME

HINTS = {'os:scheduler_hints': {'cpu.rt_runtime_us': '300000'}}


class LeftToNovaTest(cases.ApiTestCase):
    """Compares Nova with the filter to Nova without it."""

    def setUp(self):
        super().setUp()
        self.apps = (self.api_fixture.app(),
                     self._load(cases.nova_paste_file()))

    @staticmethod
    def _load(path):
        return deploy.loadapp(f'config:{path}', name='osapi_compute')

    def _answers(self, path, body, **headers):
        for app in self.apps:
            request = webob.Request.blank(
                f'/v2.1/{path}', method='POST', body=body, headers={
                    'X-Auth-User': 'fake', 'X-Auth-Project-Id': 'fake',
                    'X-Roles': 'reader,member',
                    'Content-Type': 'application/json', **headers})
            answer = request.get_response(app)
            yield answer.status_int, answer.content_type, answer.text

    def assert_same(self, path, body, **headers):
        ours, novas = self._answers(path, body, **headers)
        self.assertEqual(novas, ours)
        return ours[0]

    def _create_body(self, flavor, **more):
        return jsonutils.dump_as_bytes({
            'server': {'name': 'web', 'flavorRef': flavor, 'networks': [],
                       'imageRef':
                       self.glance.auto_disk_config_enabled_image['id']},
            **more})

    def test_malformed_body(self):
        flavor = cases.make_flavor()
        for body in (
                b'', b'{', b'[]', b'null', b'"x"', b'1', b'\xff', b'{}',
                b'[' * 100000, b'{"server": ' + b'9' * 5000 + b'}',
                b'{"server": null}', b'{"server": []}', b'{"server": {}}',
                b'{"server": {"flavorRef": null}}',
                b'{"server": {"flavorRef": {"id": 1}}}',
                self._create_body(flavor, **{'os:scheduler_hints': 'x'}),
                self._create_body(flavor, **{'os:scheduler_hints': None}),
                self._create_body(flavor, **{'os:scheduler_hints': [1]})):
            self.assertIn(self.assert_same('servers', body), (400, 500))
        self.assert_same(f'flavors/{flavor}/os-extra_specs', b'{')
        self.assert_same('servers/x/action', b'[]')
        # Nova's own answer to the deep one is 500: that is not ours to log.
        self.assertNotIn('paste_filter.py', self.stdlog.logger.output)

    def test_a_path_with_a_line_feed_at_its_end_is_not_left(self):
        body = self._create_body(cases.make_flavor({RUNTIME: '100000', PERIOD: '200000'}), **HINTS)
        for path in ('servers', 'servers/', 'servers%0A', 'servers/%0A', 'fake/servers%0A'):
            ours, novas = self._answers(path, body)
            if path in ('servers', 'servers%0A') or novas[0] == 202:
                self.assertEqual((202, 400), (novas[0], ours[0]), path)
                self.assertIn('longer than the period', ours[2])

    def test_text_that_is_none(self):
        reserved = cases.make_flavor({RUNTIME: '100000', PERIOD: '200000'})
        for path in ('servers/%ff/action', f'flavors/{reserved}%ff/os-extra_specs', 'os-x/%ff'):
            self.assertIn(self.assert_same(path, b'{}'), (400, 404))
        half = self._create_body('\ud800')
        self.assert_same('servers', half)
        body = jsonutils.loads(self._create_body(reserved))
        body['server']['imageRef'] = '\ud800'
        self.assertEqual(400, self.assert_same('servers', jsonutils.dump_as_bytes(body)))

    def test_wrong_microversion_or_content_type(self):
        body = self._create_body(cases.make_flavor(), **HINTS)
        for headers, status in (
                ({'OpenStack-API-Version': 'compute 99.1'}, 406),
                ({'OpenStack-API-Version': 'compute x'}, 400),
                ({'Content-Type': 'text/xml'}, 415)):
            self.assertEqual(
                status, self.assert_same('servers', body, **headers))

    def test_flavor_that_does_not_exist(self):
        for flavor in ('none', 12345, True, '', 'http://x/', '\U0001f600'):
            self.assertEqual(400, self.assert_same(
                'servers', self._create_body(flavor)))

    def test_flavor_that_the_user_may_not_see(self):
        flavor = cases.make_flavor(
            {RUNTIME: '100000', PERIOD: '200000'}, public=False)
        body = self._create_body(flavor, **HINTS)
        self.assertEqual(400, self.assert_same('servers', body))
        objects.Flavor.get_by_flavor_id(
            nova_context.get_admin_context(), flavor).add_access('fake')
        ours, novas = self._answers('servers', body)
        self.assertIn('longer than the period', ours[2])
        self.assertEqual(202, novas[0])

    def test_user_who_may_not_create_servers(self):
        self.policy.set_rules(
            {server_policies.SERVERS % 'create': '!'}, overwrite=False)
        body = self._create_body(cases.make_flavor(), **HINTS)
        self.assertEqual(403, self.assert_same('servers', body))

    def test_database_that_is_away(self):
        body = self._create_body(cases.make_flavor(), **HINTS)
        for error in (db_exception.DBConnectionError('gone'),
                      db_exception.CantStartEngineError('gone'),
                      sqlalchemy.exc.TimeoutError('pool')):
            with mock.patch.object(objects.Flavor, 'get_by_flavor_id',
                                   side_effect=error):
                self.assertEqual(500, self.assert_same('servers', body))
            self.assertIn('Not checked, left to Nova',
                          self.stdlog.logger.output)

    def test_filter_before_the_context_says_so_in_the_log(self):
        text = cases.nova_paste_file().read_text().replace(
            ' keystonecontext', ' rt_reservations keystonecontext')
        text = f'{text}\n{paste_ini.FILTER_SECTION}'
        path = cases.write_paste_config(self, text)
        self.apps = (self._load(path), self.apps[1])
        body = self._create_body(cases.make_flavor(), **HINTS)
        self.assertEqual(202, next(self._answers('servers', body))[0])
        self.assertIn('must come after keystonecontext',
                      self.stdlog.logger.output)
