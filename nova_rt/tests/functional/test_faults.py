# SPDX-License-Identifier: Apache-2.0
"""Services that end, kernels that refuse, and errors in between."""

import errno
from unittest import mock

from nova import exception
from nova import objects
from nova.compute import resource_tracker
from nova.compute import rpcapi
from nova.compute import task_states
from oslo_db import exception as db_exc

from nova_rt.testing import cloud
from nova_rt.tests.functional import killed


class FaultsTestCase(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')
        for i in (1, 2):
            self._start_compute(f'host{i}')

    def boot_on(self, host, flavor, **kwargs):
        return self.boot(flavor, az=f'nova:{host}', **kwargs)

    def restart(self, host):
        self.computes[host] = self.restart_compute_service(
            self.computes[host])


class TestRestarts(FaultsTestCase):

    def setUp(self):
        super().setUp()
        self.server = self.boot_on('host1', self.make_flavor(50, 2))
        self.large = self.make_flavor(60, 3)

    def test_both_hosts_restarted_while_resized_hold_both_sides(self):
        self._resize_server(self.server, self.large)
        self.restart('host1')
        self.restart('host2')
        self.assert_ledgers([50, 50, 0, 0], [60, 60, 60, 0])

    def test_restarted_while_resized_and_confirmed_it_holds_the_new(self):
        self._resize_server(self.server, self.large)
        self.restart('host1')
        self._confirm_resize(self.server)
        self.restart('host2')
        self.assert_settled(self.server)

    def test_restarted_while_resized_and_reverted_it_holds_the_old(self):
        self._resize_server(self.server, self.large)
        self.restart('host2')
        self._revert_resize(self.server)
        self.restart('host1')
        self.assert_settled(self.server)

    def test_restarted_on_the_same_host_while_resized_it_holds_both(self):
        self.flags(allow_resize_to_same_host=True)
        full = self.boot_on('host2', self.make_flavor(95, 4))
        flavor = self.make_flavor(60, 2, memory_mb=128)
        self._resize_server(self.server, flavor)
        self.restart('host1')
        self.assert_ledgers([50, 50, 60, 60], [95] * 4)
        self._confirm_resize(self.server)
        self.assert_settled(self.server, full)

    def test_restarted_with_a_stopped_server_it_keeps_the_claim(self):
        self._stop_server(self.server)
        self.restart('host1')
        self.assert_ledgers([50, 50, 0, 0], [0, 0, 0, 0])
        self.assertEqual(['0%'] * 4, self.applied_on(self.computes['host1']))


class TestBuilding(FaultsTestCase):

    def test_deleted_while_it_is_built_it_leaves_nothing(self):
        driver = self.computes['host1'].manager.driver
        spawn = driver.spawn

        def delete_first(context, instance, *args, **kwargs):
            self.api.delete_server(instance.uuid)
            return spawn(context, instance, *args, **kwargs)
        with mock.patch.object(driver, 'spawn', delete_first):
            server = self.api.post_server({'server': self._build_server(
                flavor_id=self.make_flavor(50, 2), networks='none',
                az='nova:host1')})
            self._wait_until_deleted(server)
        self.assert_settled()

    def test_an_error_after_the_claim_leaves_nothing(self):
        with mock.patch.object(
                self.computes['host1'].manager.driver, 'spawn',
                side_effect=exception.InstanceDeployFailure(reason='no')):
            server = self.boot_on('host1', self.make_flavor(50, 2),
                                  state='ERROR')
        self.assert_without_claim(server)

    def test_an_error_of_the_database_in_the_claim_leaves_nothing(self):
        tracker = self.computes['host1'].manager.rt
        with mock.patch.object(
                tracker, '_set_instance_host_and_node',
                side_effect=exception.DBNotAllowed(binary='x')):
            server = self.boot_on('host1', self.make_flavor(50, 2),
                                  state='ERROR')
        self.assert_without_claim(server)

    def test_an_error_in_the_report_of_a_claim_leaves_nothing(self):
        tracker = self.computes['host1'].manager.rt
        with mock.patch.object(
                tracker, '_update_to_placement',
                side_effect=exception.PlacementAPIConnectFailure()):
            server = self.boot_on('host1', self.make_flavor(50, 2),
                                  state='ERROR')
        self.assert_without_claim(server)

    def assert_without_claim(self, server):
        self.assertNotIn('rt_pcpus',
                         self.instance_of(server).system_metadata)
        self.assert_settled()


class TestMovesThatFail(FaultsTestCase):

    def setUp(self):
        super().setUp()
        self.large = self.make_flavor(60, 3)
        self.server = self.boot_on('host1', self.make_flavor(50, 2))

    def test_an_error_of_the_database_in_the_claim_leaves_the_old(self):
        with mock.patch.object(
                self.computes['host2'].manager.rt, '_claim_resources',
                side_effect=exception.DBNotAllowed(binary='x')):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self._wait_for_migration_status(self.server, ['error'])
        self.assert_settled(self.server)

    def test_an_error_in_the_report_of_a_claim_leaves_the_old(self):
        with mock.patch.object(
                self.computes['host2'].manager.rt, '_update_to_placement',
                side_effect=exception.PlacementAPIConnectFailure()):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self._wait_for_migration_status(self.server, ['error'])
        self.assert_settled(self.server)

    def test_one_that_failed_long_ago_is_no_move_of_what_is_rebuilt(self):
        with mock.patch.object(
                self.computes['host1'].manager.driver,
                'migrate_disk_and_power_off',
                side_effect=exception.ResizeError(reason='no')):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self._wait_for_migration_status(self.server, ['error'])
        self._wait_for_server_parameter(self.server, {
            'OS-EXT-STS:task_state': None})
        self.admin_api.post_server_action(
            self.server['id'], {'os-resetState': {'state': 'active'}})
        self._run_periodics()
        self._resize_server(self.server, self.large)
        self._confirm_resize(self.server)
        instance = self.instance_of(self.server)
        self.assertEqual('host2', instance.host)
        instance.task_state = task_states.REBUILDING
        instance.save()
        self._run_periodics()
        self.assert_ledgers([0] * 4, [60, 60, 60, 0])

    def test_a_revert_that_never_arrives_holds_nothing_where_it_was(self):
        others = self.boot_on('host2', self.make_flavor(30, 4))
        self._resize_server(self.server, self.large)
        with mock.patch.object(
                rpcapi.ComputeAPI, 'finish_revert_resize') as lost:
            self.api.post_server_action(
                self.server['id'], {'revertResize': None})
            self.eventually(lost.assert_called_once)
        self.assert_ledgers([50, 50, 0, 0], [30] * 4)
        self.admin_api.post_server_action(
            self.server['id'], {'os-resetState': {'state': 'error'}})
        self._run_periodics()
        self.assert_ledgers([0] * 4, [30] * 4)
        self.api.post_server_action(
            self.server['id'], {'reboot': {'type': 'HARD'}})
        self.eventually(lambda: self.assertIn(
            'no claim on pCPUs', self.api.get_server(
                self.server['id']).get('fault', {}).get('message', '')))
        self.assert_ledgers([0] * 4, [30] * 4)
        self.api.delete_server(self.server['id'])
        self.eventually(lambda: self.assertEqual(
            [others['id']], [server['id'] for server in self.api.get_servers()]))
        self.assert_settled(others)
        self.assert_audited()

    def test_a_revert_that_dies_halfway_leaves_no_claim_on_what_is_free(self):
        self._resize_server(self.server, self.large)
        with mock.patch.object(
                self.computes['host2'].manager.rt, '_drop_move_claim',
                side_effect=killed.Killed) as died:
            self.api.post_server_action(
                self.server['id'], {'revertResize': None})
            self.eventually(died.assert_called_once)
        self.restart('host2')
        self.assert_ledgers([50, 50, 0, 0], [0] * 4)
        other = self.boot_on('host2', self.make_flavor(50, 4))
        self.admin_api.post_server_action(
            self.server['id'], {'os-resetState': {'state': 'error'}})
        self._run_periodics()
        self.assert_ledgers([0] * 4, [50] * 4)
        self.api.delete_server(self.server['id'])
        self.eventually(lambda: self.assertEqual(
            [other['id']], [server['id'] for server in self.api.get_servers()]))
        self.assert_ledgers([0] * 4, [50] * 4)

    def test_a_kernel_that_refuses_leaves_it_where_nova_does(self):
        kernel = self.kernel_of(self.computes['host2'])
        kernel.refuse_containers = errno.EINVAL
        self.api.post_server_action(self.server['id'], {
            'resize': {'flavorRef': self.large}})
        self._wait_for_migration_status(self.server, ['error'])
        server = self._wait_for_state_change(self.server, 'ERROR')
        kernel.refuse_containers = None
        self.assertIn('The kernel refused', server['fault']['message'])
        self.assertEqual('host2', server['OS-EXT-SRV-ATTR:host'])
        self._run_periodics()
        self.assert_ledgers([0] * 4, [50, 50, 0, 0])
        self._reboot_server(self.server, hard=True)
        self.assert_settled(self.server)

    def test_one_that_cannot_stay_where_nova_leaves_it_holds_nothing(self):
        full = self.boot_on('host2', self.make_flavor(30, 4))
        small = self.make_flavor(20, 1)
        wide = self.boot_on('host1', self.make_flavor(40, 4))
        more = self.boot_on('host2', self.make_flavor(40, 4))
        kernel = self.kernel_of(self.computes['host2'])
        kernel.refuse_containers = errno.EINVAL
        self.api.post_server_action(wide['id'], {
            'resize': {'flavorRef': small}})
        self._wait_for_migration_status(wide, ['error'])
        self._wait_for_state_change(wide, 'ERROR')
        kernel.refuse_containers = None
        self._run_periodics()
        self.assertNotIn('rt_pcpus', self.instance_of(wide).system_metadata)
        self.assert_settled(self.server, full, more)


class TestUpdatesThatFail(FaultsTestCase):
    """The database fails once while hosts derive their ledgers."""

    def setUp(self):
        super().setUp()
        self.flags(allow_resize_to_same_host=True)
        self.server = self.boot_on('host1', self.make_flavor(50, 2))
        self.full = self.boot_on('host2', self.make_flavor(45, 4))

    def resize(self):
        self._resize_server(self.server, self.make_flavor(60, 2, memory_mb=128))
        self.assertEqual(['50%', '50%', '60%', '60%'], self.used_on(self.computes['host1']))

    def update(self, target, name, kind=mock.Mock):
        """Run the periodic tasks while something fails; hosts must hold what they did."""
        before = [self.used_on(compute) for compute in self.computes.values()]
        with mock.patch.object(target, name, new_callable=kind,
                               side_effect=db_exc.DBConnectionError) as failed:
            self._run_periodics()
        failed.assert_called()
        self.assertEqual(before, [self.used_on(compute) for compute in self.computes.values()])

    def test_while_servers_are_read_all_is_held_as_before(self):
        self.update(resource_tracker.ResourceTracker, '_update_usage_from_instance')
        self.assert_settled(self.server, self.full)

    def test_while_moves_are_read_the_side_that_was_left_is_held_as_before(self):
        self.resize()
        self.update(objects.Migration, 'instance', mock.PropertyMock)
        self.assert_ledgers([50, 50, 60, 60], [45] * 4)

    def test_between_the_two_both_sides_are_held_as_before(self):
        self.resize()
        self.update(resource_tracker.ResourceTracker, '_ensure_compute_id_for_instances')
        self.assert_ledgers([50, 50, 60, 60], [45] * 4)

    def test_what_is_confirmed_afterwards_is_held_on(self):
        self.resize()
        self.update(objects.Migration, 'instance', mock.PropertyMock)
        self._confirm_resize(self.server)
        self.assert_settled(self.server, self.full)

    def test_after_all_was_read_that_is_held(self):
        with mock.patch.object(resource_tracker.ResourceTracker, '_update',
                               side_effect=db_exc.DBConnectionError):
            self.restart('host1')
        self.assert_settled(self.server, self.full)
