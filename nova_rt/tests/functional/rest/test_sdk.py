# SPDX-License-Identifier: Apache-2.0
"""The API by openstacksdk, in this process, on Nova's fixtures."""

from unittest import mock

from keystoneauth1 import session
from keystoneauth1 import token_endpoint
from openstack import connection
from openstack import exceptions
import pytest

from nova_rt import bandwidth
from nova_rt.sdk import proxy
from nova_rt.tests.functional.rest import test_commands
from nova_rt.view import nodes


class TestProxy(test_commands.CommandsCase):

    def cloud(self, token='admin'):
        """Return a connection, as a program opens one."""
        cloud = connection.Connection(session=session.Session(
            auth=token_endpoint.Token(test_commands.URL, token)))
        cloud.add_service(proxy.SERVICE)
        self.addCleanup(cloud.close)
        return cloud.rt

    def test_what_there_is_to_see(self):
        rt = self.cloud()
        self.assertEqual(
            [('host1', 1.4), ('host2', 0.5)],
            [(host.name, bandwidth.cpus(host.share_used)) for host in rt.hosts()])
        host = rt.get_host('host2')
        self.assertEqual([self.batch['id']], [each['server'] for each in host.holdings])
        self.assertEqual({'web', 'db'}, {server.name for server in rt.servers(host='host1')})
        server = rt.get_server(self.db['id'])
        self.assertEqual((self.db['id'], 40_000, 'host1'),
                         (server.id, server.reservation['runtime_us'], server.host))
        self.assertEqual([1.4, 0.5], [
            bandwidth.cpus(project.share) for project in rt.projects()])
        (own,) = self.cloud('user').servers()
        self.assertEqual(('batch', None), (own.name, own.host))

    def test_lists_go_on_to_their_last_page(self):
        paged = nodes.page
        with mock.patch.object(nodes, 'page', lambda context, limit, marker=None: paged(
                context, 1, marker)):
            pages = list(self.cloud()._pages('/hosts', 'hosts', limit=1))
        self.assertEqual(['host1', 'host2'], [entry['host'] for entry in pages])

    def test_an_incomplete_list_is_no_list(self):
        with (mock.patch.object(nodes, 'page', return_value=nodes.Page([], False, ['cell7'])),
              pytest.raises(proxy.IncompleteError, match='the database of cell7')):
            list(self.cloud().hosts())

    def test_why_and_how_many_more(self):
        rt = self.cloud()
        self.assertIn('No room on', rt.why(self.large['id'])['fault'])
        self.assertTrue(all(host['fits'] for host in rt.why_not(self.flavor)['hosts']))
        self.assertFalse(any(host['fits'] for host in rt.why_not(
            self.flavor, {'cpu.rt_runtime_us': '94000', 'cpu.rt_period_us': '95000'})['hosts']))
        self.assertEqual(8, rt.capacity(self.flavor)['total'])

    def test_a_reservation_is_set_and_a_vcpu_moved(self):
        rt = self.cloud()
        self.assertEqual(60_000, rt.set_reservation(
            self.db['id'], runtime_us=60_000).reservation['runtime_us'])
        (source, *_), free = rt.get_server(self.web['id']).pcpus, {0, 1, 2, 3}
        target = min(free - set(rt.get_server(self.web['id']).pcpus))
        rt.move_vcpu('host1', self.web['id'], source, target)
        self.assertIn(target, rt.get_server(self.web['id']).pcpus)
        self.assert_settled(self.web, self.db, self.batch)

    def test_moves_are_planned(self):
        plan = self.cloud().plan_moves('host1', self.flavor, seconds=1)
        self.assertEqual([], plan.moves)
        self.assertIn('room already', plan.proof)
        self.assertEqual(4, len(self.cloud().plan_moves('host1').pcpus))

    def test_room_between_hosts_is_planned(self):
        rt = self.cloud()
        plan = rt.plan_between_hosts(
            self.flavor, {'cpu.rt_runtime_us': '70000'}, host='host1', max_migrations=1)
        self.assertEqual(('host1', 2, ['move', 'move']), (
            plan.host, plan.cost, [step['step'] for step in plan.steps]))
        progress = rt.get_migration(self.web['id'])
        self.assertEqual(('host1', False, None), (
            progress.host, progress.under_way, progress.status))
        with pytest.raises(exceptions.ConflictException, match='no longer on host2'):
            rt.migrate_server(self.web['id'], 'host2', 'host1')

    def test_a_refusal_has_the_apis_sentence(self):
        for refused, raised, words in (
                (lambda: list(self.cloud('user').hosts()), exceptions.ForbiddenException,
                 'do not allow rt:hosts:list'),
                (lambda: self.cloud().get_host('nowhere'), exceptions.NotFoundException,
                 "There is no host 'nowhere'"),
                (lambda: self.cloud().move_vcpu('host1', self.web['id'], 0, 0),
                 exceptions.ConflictException, 'already'),
                (lambda: self.cloud().capacity('gold'), exceptions.NotFoundException,
                 "There is no flavor 'gold'")):
            with pytest.raises(raised, match=words):
                refused()
