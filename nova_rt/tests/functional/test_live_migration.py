# SPDX-License-Identifier: Apache-2.0
"""Virtual machines are migrated live with their reservation, or stay where they are."""

import contextlib
import errno
from unittest import mock

from nova import exception
from nova.compute import rpcapi
import oslo_messaging

from nova_rt.testing import cloud
from nova_rt.testing import fake_machine_driver
from nova_rt.tests.functional import killed

NOTHING = ['0%'] * 4


class Late:
    """Calls of destinations, of which the first is answered too late.

    :param third: a server on the second destination
    """

    def __init__(self, third):
        self.third = third
        self._ask = rpcapi.ComputeAPI.check_can_live_migrate_destination
        self._first = None
        self.follow = lambda: None

    def call(self, *args):
        if self._first is None:
            self._first = args
            raise oslo_messaging.MessagingTimeout
        answer = self._ask(*args)
        self.follow()
        return answer

    def claim(self):
        """Have the first destination do now what it was asked for."""
        with contextlib.suppress(exception.MigrationPreCheckError):
            self._ask(*self._first)


class TestLiveMigration(cloud.CloudTestCase):
    """A virtual machine with 50% of two pCPUs on host1, another with 60% on host2."""

    compute_driver = 'fake.FakeMachineDriver'

    def setUp(self):
        super().setUp()
        for host in ('host1', 'host2'):
            self.start(host)
        self.flavor = self.make_flavor(50, 2)
        self.server = self.boot(self.flavor, az='nova:host1')
        self.other = self.boot(self.make_flavor(60, 2), az='nova:host2')

    def applied(self, host):
        return self.applied_on(self.computes[host])

    def migrate(self, host='host2', status='completed'):
        self.api.post_server_action(self.server['id'], {'os-migrateLive': {
            'host': host, 'block_migration': 'auto'}})
        migration = self._wait_for_migration_status(self.server, [status])
        return migration, self._wait_for_server_parameter(
            self.server, {'OS-EXT-STS:task_state': None})

    def assert_is_on(self, host, pcpus, *others):
        """Assert where the server is, and that all agree and none holds it twice."""
        server = self.api.get_server(self.server['id'])
        self.assertEqual(('ACTIVE', host),
                         (server['status'], server['OS-EXT-SRV-ATTR:host']))
        self.assertEqual(pcpus, self.pcpus_of(server))
        metadata = self.instance_of(server).system_metadata
        self.assertEqual([], [key for key in metadata
                              if key in ('old_rt_pcpus', 'new_rt_pcpus')])
        self.assert_settled(self.server, self.other, *others)
        self.assert_audited()

    def test_it_takes_other_pcpus_there_and_gives_back_what_it_had(self):
        self.migrate()
        self.assert_is_on('host2', (2, 3))
        self.assertEqual(NOTHING, self.applied('host1'))
        self.assertEqual(['60%', '60%', '50%', '50%'], self.applied('host2'))
        self.assertEqual(0, self.allocated_on('host1'))

    def test_it_has_its_reservation_before_it_runs_there(self):
        self.migrate()
        half = self.computes['host1'].manager.driver.hypervisor.resumed[0][1]
        self.assertEqual(
            (self.server['id'], half),
            self.computes['host2'].manager.driver.hypervisor.resumed[-1])

    def test_there_and_back_again_and_again(self):
        for _ in range(3):
            self.migrate('host2')
            self.assert_is_on('host2', (2, 3))
            self.migrate('host1')
            self.assert_is_on('host1', (0, 1))

    def test_deleted_where_it_arrived_it_leaves_nothing(self):
        self.migrate()
        self._delete_server(self.server)
        self.assertEqual(['60%', '60%', '0%', '0%'], self.applied('host2'))
        self.assertEqual(['60%', '60%', '0%', '0%'],
                         self.used_on(self.computes['host2']))
        self.assert_audited()

    def test_one_without_a_reservation_goes_as_with_nova_alone(self):
        self.server = self.boot(self._create_flavor(vcpu=2, memory_mb=64, disk=1),
                                az='nova:host1')
        self.migrate()
        self.assertEqual((self.server['id'], [0, 0]),
                         self.computes['host2'].manager.driver.hypervisor.resumed[-1])

    def test_the_scheduler_finds_the_host(self):
        self.migrate(None)
        self.assert_is_on('host2', (2, 3))

    def test_a_host_without_room_is_not_chosen_and_it_stays(self):
        self.boot(self.make_flavor(60, 2), az='nova:host2')
        self.api.post_server_action(self.server['id'], {'os-migrateLive': {
            'host': 'host2', 'block_migration': 'auto'}})
        self._wait_for_migration_status(self.server, ['error'])
        self.assertEqual(['50%', '50%', '0%', '0%'], self.applied('host1'))
        self.assertEqual(['60%'] * 4, self.applied('host2'))

    def test_a_named_host_without_room_says_what_it_lacks(self):
        """Whatever room other hosts have."""
        self.boot(self.make_flavor(90, 2), az='nova:host2')
        self.api.post_server_action(self.server['id'], {'os-migrateLive': {
            'host': 'host2', 'block_migration': 'auto'}})
        self._wait_for_migration_status(self.server, ['error'])
        self.assertIn('No room on host2: 50% is needed', self.reason_of(self.server))
        refused = self.boot(self.flavor, 'ERROR', az='nova:host2')
        self.assertIn('No room on host2: 50% is needed', refused['fault']['message'])

    def reason_of(self, server):
        """Return what Nova shows of why the last action on a server failed."""
        action = self.api.get_instance_actions(server['id'])[0]
        with mock.patch.object(self.admin_api, 'microversion', '2.84'):
            shown = self.admin_api.api_get(
                f'/servers/{server["id"]}/os-instance-actions/{action["request_id"]}')
        return ' '.join(event['details'] or ''
                        for event in shown.body['instanceAction']['events'])

    def test_two_that_meet_at_the_last_room_do_not_share_it(self):
        """The scheduler chose for both; the claim has the last word."""
        third = self.boot(self.make_flavor(50, 2), az='nova:host1')
        place = self.computes['host2'].manager.rt.place
        taken = []

        def fill_up_first(nodename, wanted):
            if not taken:
                taken.append(True)
                self.computes['host2'].manager.rt.ledger.enter(
                    third['id'], 'server', self._holding_of(self.instance_of(self.other)))
                self.computes['host2'].manager.rt.ledger.enter(
                    third['id'], 'move', self._holding_of(self.instance_of(third)))
            return place(nodename, wanted)

        with mock.patch.object(self.computes['host2'].manager.rt, 'place', fill_up_first):
            self.migrate(status='error')
        self.computes['host2'].manager.rt.ledger.enter(third['id'], 'server', None)
        self.computes['host2'].manager.rt.ledger.enter(third['id'], 'move', None)
        self.assert_is_on('host1', (0, 1), third)

    def test_what_the_destinations_kernel_refuses_is_not_sent(self):
        hypervisor = self.computes['host2'].manager.driver.hypervisor
        hypervisor.refuse[hypervisor._next] = errno.EBUSY
        self.migrate(status='failed')
        self.assert_is_on('host1', (0, 1))
        self.assertEqual(['60%', '60%', '0%', '0%'], self.applied('host2'))

    def test_one_that_fails_on_its_way_stays_with_what_it_had(self):
        fake_machine_driver.FakeMachineDriver.unreachable.add('host2')
        self.migrate(status='failed')
        self.assert_is_on('host1', (0, 1))
        self.assertEqual(['50%', '50%', '0%', '0%'], self.applied('host1'))
        self.assertEqual(['60%', '60%', '0%', '0%'], self.applied('host2'))
        fake_machine_driver.FakeMachineDriver.unreachable.clear()
        self.migrate()
        self.assert_is_on('host2', (2, 3))

    def test_a_claim_that_comes_late_does_not_replace_the_one_that_is_used(self):
        """The conductor gave host3 up, which claims when the server runs on host2."""
        with self.answering_late() as late:
            self.migrate(None)
            self.assert_is_on('host2', (2, 3), late.third)
            late.claim()
        self.assert_is_on('host2', (2, 3), late.third)
        self.assertEqual(NOTHING, self.used_on(self.computes['host3']))

    def test_what_a_late_claim_has_replaced_is_not_used(self):
        """host3 claims after host2 has, and before host2 prepares."""
        with self.answering_late() as late:
            late.follow = late.claim
            self.migrate(None, status='failed')
        self._run_periodics()
        self.assert_is_on('host1', (0, 1), late.third)
        self.assertEqual(['60%', '60%', '10%', '10%'], self.used_on(self.computes['host2']))
        self.assertEqual(NOTHING, self.used_on(self.computes['host3']))

    @contextlib.contextmanager
    def answering_late(self):
        """Have the first destination, the empty host3, claim when the test says so."""
        self.start('host3')
        # Else both would keep the same, and either be the first.
        late = Late(self.boot(self.make_flavor(10, 2), az='nova:host2'))
        with mock.patch.object(rpcapi.ComputeAPI, 'check_can_live_migrate_destination',
                               lambda *args: late.call(*args)):
            yield late

    def kill_source(self, owner, name):
        """Have the service on the source die there, and start it again."""
        killing = mock.patch.object(owner, name, side_effect=killed.Killed)
        with killing as reached:
            self.api.post_server_action(self.server['id'], {'os-migrateLive': {
                'host': 'host2', 'block_migration': 'auto'}})
            self.eventually(lambda: self.assertTrue(reached.called))
        self.start('host1')

    def test_a_source_that_is_killed_before_it_left_keeps_it(self):
        self.kill_source(self.computes['host1'].manager.driver, 'live_migration')
        self.assert_is_on('host1', (0, 1))
        self.assertEqual(['60%', '60%', '0%', '0%'], self.used_on(self.computes['host2']))
        self.migrate()
        self.assert_is_on('host2', (2, 3))

    def test_a_source_that_is_killed_after_it_left_finds_it_at_its_destination(self):
        self.kill_source(self.computes['host1'].manager, '_post_live_migration_update_host')
        self.assert_is_on('host2', (2, 3))
        self.assertEqual(['60%', '60%', '50%', '50%'], self.applied('host2'))
        self.assertEqual(0, self.allocated_on('host1'))
        self.migrate('host1')
        self.assert_is_on('host1', (0, 1))

    def test_one_whose_start_was_lost_leaves_nothing_when_it_is_deleted(self):
        """The destination has claimed; the source never hears of it."""
        with mock.patch.object(rpcapi.ComputeAPI, 'live_migration') as lost:
            self.api.post_server_action(self.server['id'], {'os-migrateLive': {
                'host': 'host2', 'block_migration': 'auto'}})
            self.eventually(lambda: self.assertTrue(lost.called))
        self.assertNotEqual(0, self.allocated_on('host1'))
        self._delete_server(self.server)
        self.assertEqual(0, self.allocated_on('host1'))
        self._run_periodics()
        self.assertEqual(['60%', '60%', '0%', '0%'], self.used_on(self.computes['host2']))
        self.assert_audited()

    def test_a_destination_that_is_silent_at_the_end_still_holds_it(self):
        with mock.patch.object(
                rpcapi.ComputeAPI, 'post_live_migration_at_destination',
                side_effect=oslo_messaging.MessagingTimeout):
            self.migrate(status='error')
        self.computes['host2'].manager.update_available_resource(self.cell_context())
        self.assertEqual((2, 3), self.pcpus_of(self.server))
        self.assertEqual('host2', self.api.get_server(
            self.server['id'])['OS-EXT-SRV-ATTR:host'])
        self.assertEqual(['60%', '60%', '50%', '50%'],
                         self.used_on(self.computes['host2']))
        self.assertEqual(0, self.allocated_on('host1'))
