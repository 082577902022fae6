# SPDX-License-Identifier: Apache-2.0
"""What a resize answers when the new flavor meets the stored hints."""

from nova import context as nova_context
from nova import objects
from nova.policies import servers as server_policies
from nova.tests.functional import integrated_helpers

from nova_rt.instance import holdings
from nova_rt.instance import preempted
from nova_rt.testing import cases
from nova_rt.testing.cases import PERIOD
from nova_rt.testing.cases import RUNTIME

RESERVED = {RUNTIME: '100000', PERIOD: '200000'}


class ResizeTest(cases.ApiTestCase):
    """The server is still being built: Nova itself answers 409 here."""

    def setUp(self):
        super().setUp()
        self.api.microversion = '2.100'

    def _server(self, hints):
        response = self.create_server(cases.make_flavor(RESERVED), hints)
        return response.json()['server']['id']

    def _resize(self, server_id, extra_specs, api=None):
        body = {'resize': {'flavorRef': cases.make_flavor(extra_specs)}}
        return self.post(f'servers/{server_id}/action', body, api)

    def test_stored_runtime_over_the_new_period_is_refused(self):
        server = self._server({'cpu.rt_runtime_us': 120000})
        self.assert_refused(
            self._resize(server, {RUNTIME: '5000', PERIOD: '10000'}),
            '120000 µs is longer than the period of 10000 µs')

    def test_stored_runtime_without_any_period_is_refused(self):
        server = self._server({'cpu.rt_runtime_us': 120000})
        self.assert_refused(
            self._resize(server, {}), 'cpu.rt_period_us is neither')

    def test_new_bandwidth_over_the_cap_is_refused(self):
        server = self._server({'cpu.rt_runtime_us': 120000})
        self.assert_refused(
            self._resize(server, {RUNTIME: '5000', PERIOD: '121000'}),
            'at most 95%')

    def test_flavor_that_fits_the_stored_hints_is_left_to_nova(self):
        for hints, extra_specs in (
                ({'cpu.rt_runtime_us': 120000}, {PERIOD: '400000'}),
                ({'cpu.rt_runtime_us': 5000, 'cpu.rt_period_us': 10000}, {}),
                (None, {}), (None, RESERVED)):
            response = self._resize(self._server(hints), extra_specs)
            self.assertEqual(409, response.status_code, response.text)

    def test_server_without_stored_hints_is_left_to_nova(self):
        server = self._server(None)
        spec = objects.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), server)
        spec.scheduler_hints = None
        spec.save()
        self.assertEqual(
            409, self._resize(server, RESERVED).status_code)
        self.assert_refused(
            self._resize(server, {RUNTIME: '5000'}), 'set both')

    def test_server_of_another_project_is_not_betrayed(self):
        server = self._server({'cpu.rt_runtime_us': 120000})
        self.api.project_id = 'another'
        self.assertEqual(403, self._resize(server, {}).status_code)
        # Policy alone does not decide: Nova's database asks for the project.
        self.policy.set_rules(
            {server_policies.SERVERS % 'resize': '@'}, overwrite=False)
        self.assertNotIn('cpu.rt', self._resize(server, {}).text)
        self.assert_refused(
            self._resize(server, {}, self.admin_api), 'cpu.rt_period_us')

    def test_who_may_not_resize_learns_no_more_than_from_nova(self):
        server = self._server({'cpu.rt_runtime_us': 120000})
        self.policy.set_rules(
            {server_policies.SERVERS % 'resize': '!'}, overwrite=False)
        self.assertEqual(403, self._resize(server, {}).status_code)

    def test_server_that_does_not_exist_is_left_to_nova(self):
        response = self._resize('d5c3b2a1-0000-4000-8000-000000000000', {})
        self.assertEqual(404, response.status_code)

    def test_other_actions_are_left_to_nova(self):
        server = self._server({'cpu.rt_runtime_us': 120000})
        for body in ({'confirmResize': None}, {'reboot': {'type': 'SOFT'}},
                     {'resize': None}, {'resize': {}}, [], None, {}):
            response = self.post(f'servers/{server}/action', body)
            self.assertNotIn('cpu.rt', response.text)


class ResizeOfARunningServerTest(integrated_helpers._IntegratedTestBase,
                                 cases.ReservationTestCase):
    """With Nova's fake compute service, which knows no reservations."""

    ADMIN_API = True
    REQUIRES_LOCKING = False
    microversion = '2.100'

    def test_refused_resize_leaves_the_server_and_a_good_one_is_done(self):
        self.start_service('compute', host='other')
        server = self.api.post_server({
            'server': self._build_server(
                flavor_id=cases.make_flavor(RESERVED), networks='none'),
            'os:scheduler_hints': {'cpu.rt_runtime_us': 120000}})
        server = self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual({'cpu.rt_runtime_us': ['120000']},
                         server['scheduler_hints'])
        self.assert_not_resized_while_shrunk(server)
        resize = {'resize': {'flavorRef': cases.make_flavor(
            {RUNTIME: '5000', PERIOD: '10000'})}}
        self.api.post_server_action(
            server['id'], resize, check_response_status=[400])
        self.assertEqual(
            'ACTIVE', self.api.get_server(server['id'])['status'])
        resize['resize']['flavorRef'] = cases.make_flavor({PERIOD: '400000'})
        self.api.post_server_action(server['id'], resize)
        self._wait_for_state_change(server, 'VERIFY_RESIZE')

    def assert_not_resized_while_shrunk(self, server):
        """Its stored hint is not what its user has asked for, whatever the new flavor says."""
        instance = holdings.find(nova_context.get_admin_context(), server['id'])
        instance.system_metadata[preempted.MARK] = '{}'
        instance.save()
        refused = self.api.post_server_action(
            server['id'], {'resize': {'flavorRef': cases.make_flavor(RESERVED)}},
            check_response_status=[400])
        self.assertIn('This server has less than its reservation for a while',
                      refused['badRequest']['message'])
        del instance.system_metadata[preempted.MARK]
        instance.save()
