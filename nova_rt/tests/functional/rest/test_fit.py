# SPDX-License-Identifier: Apache-2.0
"""What keeps a server from each host, and how many more fit, asked by requests."""

from unittest import mock

from keystoneauth1 import session
from keystoneauth1 import token_endpoint
from nova import context
from nova import exception
from nova import objects
from osc_lib import exceptions
from oslo_utils import uuidutils
import pytest

from nova_rt import policies
from nova_rt.osc import client
from nova_rt.tests.functional.rest import operators_cloud
from nova_rt.tests.functional.rest import test_commands
from nova_rt.view import nodes


class FitCase(operators_cloud.OperatorsCloud):

    def setUp(self):
        super().setUp()
        test_commands.intercept(self)

    def ask(self, path, token='admin', version='1', **body):
        """Return an answer to an administrator or a user, both of the other project."""
        return client.Client(session.Session(auth=token_endpoint.Token(
            test_commands.URL, token)), version).post(path, body)

    def assert_refused(self, sentence, path, **kwargs):
        with pytest.raises(exceptions.CommandError) as refused:
            self.ask(path, **kwargs)
        self.assertIn(sentence, str(refused.value))


class TestQuotas(FitCase):

    def test_only_a_server_that_there_is_not_yet_is_counted_for_them(self):
        self.flags(instances=0, group='quota')
        (quota,) = self.ask('/why', flavor=self.flavor)['shortfalls']
        self.assertEqual('quota', quota['what'])
        self.assertEqual([], self.ask('/why', server=self.batch['id'])['shortfalls'])

    def test_a_version_that_tells_none_does_not_need_them(self):
        # Nothing is configured for oslo.limit, so they cannot be read.
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        for path in ('/why', '/capacity'):
            self.assert_refused('look at [quota]', path, flavor=self.flavor, version='1.2')
            self.assertEqual(2, len(self.ask(path, flavor=self.flavor, version='1.1')['hosts']))


class TestOpenPolicy(FitCase):
    """The operator lets readers of a project ask."""

    def setUp(self):
        opened = [policies._rule(name, policies._PROJECT, 'POST', path, 'Ask.')
                  for name, path in ((policies.WHY, '/why'), (policies.CAPACITY, '/capacity'))]
        kept = [rule for rule in policies._RULES
                if rule.name not in (policies.WHY, policies.CAPACITY)]
        with mock.patch.object(policies, '_RULES', [*kept, *opened]):
            super().setUp()

    def test_a_user_asks_for_the_project_s_own_servers_only(self):
        own = {'server': self.batch['id'], 'token': 'user'}
        self.assertEqual(50_000, self.ask('/why', **own)['reservation']['runtime_us'])
        for server in (self.web['id'], self.large['id'], self.flavor):
            self.assert_refused(f'There is no server {server}: give the id that "openstack '
                                'server list" shows. (HTTP 404)', '/why', server=server,
                                token='user')
        # An administrator of the same project sees all.
        self.assertTrue(self.ask('/why', server=self.large['id'])['fault'])

    def test_a_flavor_that_the_project_may_not_use_is_none(self):
        private = self._create_flavor(
            vcpu=1, memory_mb=64, disk=1, is_public=False, name='secret')
        for path in ('/why', '/capacity'):
            for name in (private, 'secret'):
                self.assert_refused(
                    f"There is no flavor '{name}': give an id or name that \"openstack flavor "
                    'list --all" shows. (HTTP 404)', path, flavor=name, token='user')
                self.assertEqual(2, len(self.ask(path, flavor=name)['hosts']))
        self.admin_api.api_post(f'/flavors/{private}/action', {
            'addTenantAccess': {'tenant': operators_cloud.OTHER_PROJECT}})
        for path in ('/why', '/capacity'):
            self.assertEqual(2, len(self.ask(path, flavor='secret', token='user')['hosts']))
            self.assertEqual(2, len(self.ask(path, flavor=self.flavor, token='user')['hosts']))

    def test_hints_name_the_project_s_own_servers_and_groups_only(self):
        """Or they would tell, host by host, where those of others are."""
        foreign = self.api.post_server_groups({'name': 'web', 'policy': 'anti-affinity'})['id']
        for path in ('/why', '/capacity'):
            def ask(token='user', path=path, **hints):
                return self.ask(path, token=token, flavor=self.flavor, hints=hints)
            for hints in ({'different_host': [self.batch['id'], self.web['id']]},
                          {'same_host': self.web['id']}):
                self.assert_refused(f'There is no server {self.web["id"]}: ', path,
                                    flavor=self.flavor, hints=hints, token='user')
                self.assertEqual(2, len(ask('admin', **hints)['hosts']))
            for group in (foreign, self.flavor):
                self.assert_refused(
                    f"There is no server group '{group}': give the id that \"openstack server "
                    'group list" shows. (HTTP 404)', path, flavor=self.flavor,
                    hints={'group': group}, token='user')
            self.assertEqual(2, len(ask('admin', group=foreign)['hosts']))
            self.assertEqual(2, len(ask(different_host=self.batch['id'])['hosts']))
            self.assertEqual(2, len(ask(group=self.own_group())['hosts']))

    def own_group(self):
        group = objects.InstanceGroup(
            context.get_admin_context(), uuid=uuidutils.generate_uuid(), user_id='user',
            project_id=operators_cloud.OTHER_PROJECT, name='own', policy='affinity')
        group.create()
        return group.uuid


class TestSilentCells(FitCase):

    def test_a_cell_that_does_not_answer_is_named(self):
        for path in ('/why', '/capacity'):
            self.assertEqual([], self.ask(path, flavor=self.flavor)['unreachable_cells'])
            with silent():
                told = self.ask(path, flavor=self.flavor)
                self.assertEqual((['cell1'], []), (told['unreachable_cells'], told['hosts']))
                self.assertNotIn('unreachable_cells', self.ask(
                    path, flavor=self.flavor, version='1.9'))


def silent():
    """Let no cell answer when it is asked for its hosts."""
    return mock.patch.object(
        nodes, 'of_cell', side_effect=exception.DBNotAllowed(binary='it'))
