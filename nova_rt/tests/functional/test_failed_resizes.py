# SPDX-License-Identifier: Apache-2.0
"""A server of which a resize failed asks for what it has, wherever it goes from there.

Nova leaves the flavor of the resize in the request.
"""

from unittest import mock

from nova import context
from nova import exception
from nova import objects
from nova.conductor import api as conductor_api

from nova_rt import bandwidth
from nova_rt.explain import collect
from nova_rt.testing import full
from nova_rt.tests.functional import test_limits
from nova_rt.view import servers


class FailedResizeCase(test_limits.LimitTestCase):
    """A server with 45% of two pCPUs of host0, which stayed there when a resize failed."""

    HOSTS = 2
    LIMIT = 2 * bandwidth.BW_UNIT
    # What the resize was to.
    PERCENT = 5

    def setUp(self):
        super().setUp()
        self.server = self.boot(self.make_flavor(45, 2), az='nova:host0')
        self.fail_to_resize(self.another_flavor())

    def another_flavor(self):
        return self.make_flavor(self.PERCENT, 2, memory_mb=32)

    def fail_to_resize(self, flavor):
        driver = self.computes['host0'].manager.driver
        # As libvirt's driver does for a smaller disk.
        refused = exception.InstanceFaultRollback(
            exception.ResizeError(reason='Unable to resize disk down.'))
        with mock.patch.object(driver, 'migrate_disk_and_power_off', side_effect=refused):
            self.act(self.server, resize={'flavorRef': flavor})
            self._wait_for_migration_status(self.server, ['error'])
            # The last that Nova does is to forget the task state once more, and to tell of it.
            self.notifier.wait_for_versioned_notifications('compute.exception')
        self._wait_for_server_parameter(
            self.server, {'status': 'ACTIVE', 'OS-EXT-STS:task_state': None})
        # Until then its destination holds it.
        self._run_periodics()
        spec = objects.RequestSpec.get_by_instance_uuid(
            context.get_admin_context(), self.server['id'])
        self.assertNotEqual(self.server['flavor']['original_name'], spec.flavor.name)

    def assert_has_moved(self):
        """Assert that it is on host1, and that all agree that it has what it had."""
        for _ in range(2):
            self.eventually(lambda: self.assertEqual(
                ('90%', '90%', ['45%', '45%', '0%', '0%']), (
                    self.used(), bandwidth.percent(self.allocated_on('host1')),
                    self.used_on(self.computes['host1']))))
            self._run_periodics()
        self.assert_audited()

    def shelve(self):
        self.flags(shelved_offload_time=0)
        self.act(self.server, shelve={})
        self._wait_for_state_change(self.server, 'SHELVED_OFFLOADED')


class _AfterAFailedResize:

    def test_nothing_of_the_resize_is_left(self):
        self.assert_settled(self.server)

    def test_it_is_unshelved_with_what_it_has(self):
        self.shelve()
        self.assertEqual('0%', self.used())
        self.admin_api.post_server_action(self.server['id'], {'unshelve': {'host': 'host1'}})
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.assert_has_moved()

    def test_it_is_evacuated_with_what_it_has(self):
        compute = self.take_down('host0')
        # From 2.95 on, an evacuated server stays stopped.
        with mock.patch.object(self.admin_api, 'microversion', '2.94'):
            self._evacuate_server(self.server, expected_state='ACTIVE', expected_host='host1')
        self.computes['host0'] = self.restart_compute_service(compute)
        self.assert_has_moved()

    def test_it_is_migrated_with_what_it_has(self):
        self._migrate_server(self.server)
        self._confirm_resize(self.server)
        self.assert_has_moved()


class TestSmaller(_AfterAFailedResize, FailedResizeCase):

    def test_unshelving_counts_for_what_it_has(self):
        self.shelve()
        self.keystone.of_project.update({test_limits.keystone.RESOURCE: bandwidth.BW_UNIT})
        other = self.boot(self.make_flavor(15, 2))
        assert '90% more' in self.refused(self.act, self.server, unshelve=None)
        self._delete_server(other)
        with mock.patch.object(conductor_api.ComputeTaskAPI, 'unshelve_instance'):
            self.act(self.server, unshelve=None)
        assert self.used() == '90%'
        assert '30% more' in self.refused(self.boot, self.make_flavor(15, 2))

    def test_what_it_has_is_shown_and_explained(self):
        self.shelve()
        admin = context.get_admin_context()
        self.assertEqual('90%', bandwidth.percent(
            servers.one(admin, self.server['id']).wanted.share))
        request = collect.of_server(admin, self.server['id']).request
        self.assertEqual(('90%', 64), (
            bandwidth.percent(request.wanted.share), request.needs['MEMORY_MB']))


class TestLarger(_AfterAFailedResize, FailedResizeCase):

    PERCENT = 60


class TestWithoutAReservation(_AfterAFailedResize, FailedResizeCase):

    def another_flavor(self):
        return self._create_flavor(vcpu=2, memory_mb=32, disk=1)


class _MachineAfterAFailedResize:

    compute_driver = 'fake.FakeMachineDriver'

    def test_it_is_migrated_live_with_what_it_has(self):
        self.act(self.server, **{'os-migrateLive': {
            'host': None, 'block_migration': 'auto'}})
        self._wait_for_migration_status(self.server, ['completed'])
        self._wait_for_server_parameter(self.server, {'OS-EXT-STS:task_state': None})
        self.assert_has_moved()


class TestSmallerMachine(_MachineAfterAFailedResize, FailedResizeCase):
    pass


@full.only
class TestLargerMachine(_MachineAfterAFailedResize, FailedResizeCase):

    PERCENT = 60
