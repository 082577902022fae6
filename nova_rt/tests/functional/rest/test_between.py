# SPDX-License-Identifier: Apache-2.0
"""``openstack rt defrag --between-hosts`` on Nova's fixtures: Nova migrates what is planned."""

import io
from unittest import mock

import fixtures
from keystoneauth1 import session
from keystoneauth1 import token_endpoint
from nova import exception
from nova import objects
from nova.compute import api
from nova.conductor import api as conductor
from osc_lib import exceptions
import oslo_messaging
import pytest

from nova_rt import criticality

# Loaded before Nova's fixtures forbid what NumPy asks of the machine.
from nova_rt.defrag import assignment  # noqa: F401
from nova_rt.osc import client
from nova_rt.osc import defrag
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.testing.fake_machine_driver import FakeMachineDriver
from nova_rt.tests.functional import killed
from nova_rt.tests.functional.rest import operators_cloud
from nova_rt.tests.functional.rest import test_commands
from nova_rt.view import hosts


class BetweenCase(cloud.CloudTestCase):
    """Three hosts of two pCPUs, on each of which is a virtual machine's vCPU.

    90% fit none of them. They fit host1 once web, of 40%, is beside arm's 50% on host3, and
    no other virtual machine fits anywhere else.
    """

    compute_driver = 'fake.FakeMachineDriver'

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'nova.api.auth.NovaKeystoneContext._create_context', operators_cloud.caller))
        test_commands.intercept(self)
        self.useFixture(fixtures.MonkeyPatch('nova_rt.osc.between.INTERVAL_S', 0.1))
        self.servers = {}
        for host, servers in (('host1', (('web', 40, 1), ('db', 70, 1))),
                              ('host2', (('mail', 60, 1), ('log', 60, 1))),
                              ('host3', (('arm', 50, 2),))):
            self.start(host, capacity=[cloud.CAP] * 2)
            for name, percent, vcpus in servers:
                self.servers[name] = self.boot(
                    self.make_flavor(percent, vcpus), name=name, az=f'nova:{host}')
        self.wanted = self.make_flavor(90, 1)
        self._run_periodics()

    def run_command(self, kind, *arguments, token='admin', version='1'):
        """Return what a command returns, and keep what it says meanwhile."""
        self.said = io.StringIO()
        command = kind(mock.Mock(stderr=self.said), None)
        command.app.client_manager.rt = self.api_of(token, version)
        return command.take_action(command.get_parser('rt').parse_args(
            ['--between-hosts', *(arguments or ('--flavor', self.wanted))]))

    def api_of(self, token='admin', version='1'):
        return client.Client(session.Session(
            auth=token_endpoint.Token(test_commands.URL, token)), version)

    def planned(self, *arguments, **kwargs):
        """Return a plan, as programs read it."""
        names, values = self.run_command(defrag.Plan, *arguments, **kwargs)
        return {name: value.machine_readable() if hasattr(value, 'machine_readable') else value
                for name, value in zip(names, values, strict=True)}

    def assert_refused(self, sentence, kind, *arguments, **kwargs):
        with pytest.raises(exceptions.CommandError) as refused:
            self.run_command(kind, *arguments, **kwargs)
        self.assertIn(sentence, str(refused.value))

    def migrations(self):
        return [(each['status'], each['source_compute'], each['dest_compute'])
                for each in self.admin_api.api_get('/os-migrations').body['migrations']]

    def host_of(self, name):
        return self.instance_of(self.servers[name]).host

    def assert_all_settled(self, *others):
        self.assert_settled(*self.servers.values(), *others)
        self.assert_audited()


class TestBetween(BetweenCase):

    def test_a_flavor_that_fits_nowhere_fits_after_the_plan(self):
        self.boot(self.wanted, 'ERROR')
        plan = self.planned()
        self.assertEqual(
            [('migration', 'web', 'host1', 'host3', 64)],
            [tuple(step[name] for name in ('step', 'name', 'host', 'target_host', 'memory_mb'))
             for step in plan['steps']])
        self.assertEqual(('host1', 0.9, 1088, 'No plan costs less.'), tuple(
            plan[name] for name in ('host', 'bandwidth', 'cost', 'proof')))
        self.assertEqual({'host1': [(0.55, 0.95), (0.25, 0.25)],
                          'host3': [(0.45, 0.05), (0.45, 0.45)]}, {
            host['host']: [(round(pcpu['left_before'], 2), round(pcpu['left_after'], 2))
                           for pcpu in host['pcpus']] for host in plan['hosts']})
        self.assertEqual([], self.migrations())

        _, rows = self.run_command(defrag.Run)
        self.assertEqual([('migration', 'web', 'host3')],
                         [(row[0], row[2], row[4]) for row in rows])
        self.assertEqual([('completed', 'host1', 'host3')], self.migrations())
        self.assertEqual('host3', self.host_of('web'))
        self.assert_all_settled()
        large = self.boot(self.wanted)
        self.assertEqual('host1', self.instance_of(large).host)
        self.assert_all_settled(large)

    def test_moves_and_a_migration_are_combined(self):
        """80% of four fit host2 after mail's 60% have gone; host4 has room after a move."""
        self.start('host4', capacity=[cloud.CAP] * 2)
        for name in ('x', 'y'):
            self.servers[name] = self.boot(self.make_flavor(45, 1), name=name, az='nova:host4')
        for host in ('host1', 'host3'):
            self.admin_api.put_service(self.computes[host].service_ref.uuid,
                                       {'status': 'disabled'})
        plan = self.planned()
        self.assertEqual(['move'], [step['step'] for step in plan['steps']])
        self.assertEqual('host4', plan['host'])
        plan = self.planned('--flavor', self.wanted, '--host', 'host2')
        self.assertEqual(['move', 'migration'], [step['step'] for step in plan['steps']])
        self.run_command(defrag.Run, '--flavor', self.wanted, '--host', 'host2')
        self.assertEqual(3, len(self.said.getvalue().splitlines()))
        self.boot(self.wanted, az='nova:host2')
        self.assertEqual([('completed', 'host2', 'host4')], self.migrations())

    def test_where_there_is_room_nothing_is_migrated(self):
        plan = self.planned('--flavor', self.make_flavor(30, 1))
        self.assertEqual(([], 'There is room already, so nothing need be moved.'),
                         (plan['steps'], plan['proof']))

    def test_a_plan_asks_keystone_for_no_limits(self):
        # Nothing is configured for oslo.limit, so they cannot be read.
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        with pytest.raises(exceptions.CommandError, match=r'look at \[quota\]'):
            self.api_of().post('/capacity', {'flavor': self.wanted})
        self.assertEqual('host1', self.planned()['host'])

    def test_without_being_asked_nothing_is_migrated(self):
        command = defrag.Run(mock.Mock(stderr=io.StringIO()), None)
        command.app.client_manager.rt = self.api_of()
        asked = command.get_parser('rt').parse_args(
            ['--host', 'host1', '--flavor', self.wanted])
        with pytest.raises(exceptions.CommandError, match='No plan of at most 8 moves'):
            command.take_action(asked)
        self.assertEqual([], self.migrations())


@full.only
class TestOthersRules(BetweenCase):

    def assert_web_stays(self):
        self.assert_refused('No plan of at most 8 steps', defrag.Plan)

    def test_a_disabled_host_gets_nobody(self):
        self.admin_api.put_service(self.computes['host3'].service_ref.uuid,
                                   {'status': 'disabled'})
        self.assert_web_stays()

    def test_a_host_that_does_not_take_the_criticality_gets_nobody(self):
        self.flags(criticalities=['C'], group='rt')
        self.start('host3', capacity=[cloud.CAP] * 2)
        self.flags(criticalities=[*criticality.Criticality.__members__], group='rt')
        self._run_periodics()
        self.assert_web_stays()

    def test_a_locked_server_stays(self):
        self.api.post_server_action(self.servers['web']['id'], {'lock': None})
        self.assert_web_stays()
        with pytest.raises(exceptions.CommandError, match='The server is locked: unlock it'):
            self.api_of().post(f'/servers/{self.servers["web"]["id"]}/migration',
                               {'source': 'host1', 'target': 'host3'})

    def test_a_server_with_something_under_way_stays(self):
        instance = self.instance_of(self.servers['web'])
        instance.task_state = 'rebooting'
        instance.save()
        self.assert_web_stays()
        with pytest.raises(exceptions.CommandError, match=r'under way \(rebooting\)'):
            self.api_of().post(f'/servers/{self.servers["web"]["id"]}/migration',
                               {'source': 'host1', 'target': 'host3'})

    def test_a_stopped_server_stays(self):
        self._stop_server(self.servers['web'])
        self.assert_web_stays()

    def test_what_novas_filters_refuse_is_not_planned(self):
        """Whoever is apart from arm does not go to its host."""
        group = self.api.post_server_groups({'name': 'apart', 'policy': 'anti-affinity'})
        for name, percent, vcpus, host in (('web', 40, 1, 'host1'), ('arm', 50, 2, 'host3')):
            self._delete_server(self.servers[name])
            self.servers[name] = self.boot(
                self.make_flavor(percent, vcpus), name=name, az=f'nova:{host}',
                hints={'group': group['id']})
        self.assert_web_stays()

    def test_a_host_without_memory_gets_nobody(self):
        provider = f'/resource_providers/{self._get_provider_uuid_by_host("host3")}'
        inventories = self.placement.get(f'{provider}/inventories').body
        memory = inventories['inventories']['MEMORY_MB']
        memory['reserved'] = memory['total'] - 64 - 63
        memory['allocation_ratio'] = 1.0
        self.placement.put(f'{provider}/inventories', inventories)
        self.assert_web_stays()


class TestStops(BetweenCase):

    def test_a_target_that_fails_ends_the_run_and_all_stay_valid(self):
        FakeMachineDriver.unreachable.add('host3')
        self.assert_refused('0 of 1 step made, then "web 40%, 64 MiB: host1 to host3" was '
                            'refused or failed.', defrag.Run)
        self.assertEqual('host1', self.host_of('web'))
        self.assert_all_settled()
        FakeMachineDriver.unreachable.clear()
        self.run_command(defrag.Run)
        self.assertEqual('host3', self.host_of('web'))
        self.assert_all_settled()

    def test_a_claim_that_finds_no_room_ends_the_run(self):
        """Somebody takes the room between plan and migration."""
        asked, others = api.API.live_migrate, []

        def late(*args, **kwargs):
            others.append(self.boot(self.make_flavor(44, 1), az='nova:host3'))
            others.append(self.boot(self.make_flavor(44, 1), az='nova:host3'))
            return asked(*args, **kwargs)
        with mock.patch.object(api.API, 'live_migrate', late):
            self.assert_refused('refused or failed. ', defrag.Run)
        self.assertEqual('host1', self.host_of('web'))
        self.assert_all_settled(*others)

    def test_a_message_that_cannot_be_sent_leaves_the_server_as_it_was(self):
        with mock.patch.object(conductor.ComputeTaskAPI, 'live_migrate_instance',
                               side_effect=oslo_messaging.MessageDeliveryFailure('No broker')):
            self.assert_refused('Nova could not be told to migrate it, so the server stays as '
                                'it was: No broker. (HTTP 503)', defrag.Run)
        self.assertIsNone(self.instance_of(self.servers['web']).task_state)
        # What failed besides is no migration's reason, and no end that Nova has not named
        # is one.
        about = f'/servers/{self.servers["web"]["id"]}/migration'
        instance = self.instance_of(self.servers['web'])
        for status, under_way, reason in (
                (None, False, ''), ('error', False, 'It is too far.'), ('completed', False, ''),
                ('running (post-copy)', True, '')):
            if status == 'error':
                self.note_failure(instance, 'live-migration', 'It is too far')
                self.note_failure(instance, 'attach_volume', 'The volume is gone')
                migration = objects.Migration(
                    self.cell_context(), instance_uuid=instance.uuid, status=status,
                    migration_type='live-migration', source_compute='host1',
                    dest_compute='host3')
                migration.create()
            elif status:
                migration.status = status
                migration.save()
            else:
                self.note_failure(instance, 'attach_volume', 'The volume is gone')
            told = self.api_of().get(about)
            self.assertEqual((status, under_way, reason), tuple(
                told[name] for name in ('status', 'under_way', 'reason')))

    def note_failure(self, instance, action, details):
        """Let an operation fail, as Nova notes it."""
        cell = self.cell_context()
        objects.InstanceAction.action_start(cell, instance.uuid, action)
        objects.InstanceActionEvent.event_start(cell, instance.uuid, action)
        try:
            raise exception.NovaException(details)
        except exception.NovaException as exc:
            objects.InstanceActionEvent.event_finish_with_failure(
                cell, instance.uuid, action, exc_val=exc, exc_tb=exc.__traceback__)

    @full.only
    def test_interrupted_it_says_that_nova_goes_on(self):
        with (mock.patch.object(client.Client, 'get', side_effect=KeyboardInterrupt),
              pytest.raises(KeyboardInterrupt)):
            self.run_command(defrag.Run)
        self.assertIn('may be under way, and ends by itself', self.said.getvalue())
        self.eventually(lambda: self.assertEqual(
            [('completed', 'host1', 'host3')], self.migrations()))
        self.assert_all_settled()
        # It plans anew: there is nothing left to do.
        self.assertEqual([], self.run_command(defrag.Run)[1])

    @full.only
    def test_killed_before_nova_was_asked_all_stay_as_they_were(self):
        with (mock.patch.object(api.API, 'live_migrate', side_effect=killed.Killed),
              pytest.raises(killed.Killed)):
            self.run_command(defrag.Run)
        self.assertEqual([], self.migrations())
        self.assert_all_settled()
        self.run_command(defrag.Run)
        self.assertEqual('host3', self.host_of('web'))

    def test_the_source_is_killed_on_the_way(self):
        with mock.patch.object(FakeMachineDriver, 'live_migration', side_effect=killed.Killed):
            started = self.api_of().post(
                f'/servers/{self.servers["web"]["id"]}/migration',
                {'source': 'host1', 'target': 'host3'})
            self.assertTrue(started['under_way'])
            self.eventually(lambda: self.assertIn(
                'running', [status for status, _, _ in self.migrations()]))
        # What is under way is nobody's to plan with.
        self.assert_refused('No plan of at most', defrag.Plan)
        # It holds its share of its target already, which leaves 5% and 45% there.
        self.assertEqual(['arm', 'web'], [
            each['name'] for each in self.api_of().get('/hosts/host3')['holdings']])
        self.assert_refused('No plan of at most', defrag.Plan, '--flavor',
                            self.make_flavor(24, 2), '--host', 'host3')
        self.start('host1')
        self.assert_all_settled()
        self.run_command(defrag.Run)
        self.assertEqual('host3', self.host_of('web'))
        self.assert_all_settled()


class TestRefusals(BetweenCase):

    def test_what_is_refused_is_one_sentence(self):
        self.assert_refused('do not allow rt:defrag:plan_between_hosts in this scope. (HTTP 403)',
                            defrag.Plan, token='user')
        self.assert_refused('came with version 1.5', defrag.Plan, version='1.4')
        self.assert_refused("There is no flavor 'gold'", defrag.Plan, '--flavor', 'gold')
        self.assert_refused("There is no host 'nowhere'", defrag.Plan, '--flavor', self.wanted,
                            '--host', 'nowhere')
        with mock.patch.object(hosts, '_of_cell', side_effect=exception.DBNotAllowed(
                binary='it')):
            self.assert_refused('no answer came from the database of cell1: try again later. '
                                '(HTTP 503)', defrag.Plan)
        self.admin_api.put_service(self.computes['host3'].service_ref.uuid,
                                   {'status': 'disabled'})
        self.assert_refused('host3 has no room for it. The compute service is disabled.',
                            defrag.Plan, '--flavor', self.wanted, '--host', 'host3')
        self.admin_api.put_service(self.computes['host3'].service_ref.uuid,
                                   {'status': 'enabled'})
        self.assert_refused('has no reservation', defrag.Plan, '--flavor',
                            self._create_flavor(vcpu=1, memory_mb=64, disk=1))
        self.assert_refused('makes room for a --flavor', defrag.Plan, '--max-moves', '3')
        web = f'/servers/{self.servers["web"]["id"]}/migration'
        for path, body, words in (
                (web, {'source': 'host2', 'target': 'host3'}, 'no longer on host2'),
                (web, {'source': 'host1', 'target': 'nowhere'}, "There is no host 'nowhere'"),
                (web, {'source': 'host1'}, "'target' is a required property"),
                (f'/servers/{self.wanted}/migration', {'source': 'host1', 'target': 'host3'},
                 'There is no server')):
            with pytest.raises(exceptions.CommandError, match=words):
                self.api_of().post(path, body)
        with pytest.raises(exceptions.CommandError, match='do not allow rt:defrag:migrate'):
            self.api_of('user').post(web, {'source': 'host1', 'target': 'host3'})
        with pytest.raises(exceptions.CommandError, match='do not allow rt:defrag:migrate'):
            self.api_of('user').get(web)
        self.assertEqual((None, False, 'host1'), tuple(
            self.api_of().get(web)[name] for name in ('status', 'under_way', 'host')))
        self.assertEqual([], self.migrations())
