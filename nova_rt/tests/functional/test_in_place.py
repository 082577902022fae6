# SPDX-License-Identifier: Apache-2.0
"""Reservations that are changed while their containers run."""

import errno
from unittest import mock

from nova import exception
from nova import objects
from oslo_utils import uuidutils
import pytest

from nova_rt import allocations
from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.instance import flavors
from nova_rt.testing import cases
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import killed


class InPlaceTestCase(cloud.CloudTestCase):
    """A server with 50% of two pCPUs, on a host where it may be resized."""

    HOSTS = 2

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.flags(allow_resize_to_same_host=True)
        for i in range(1, self.HOSTS + 1):
            self.start(f'host{i}')
        self.flavor = self.make_flavor(50, 2)
        self.server = self.boot(self.flavor, az='nova:host1')
        self.pids = self.pids_on('host1')

    def pids_on(self, host):
        return dict(self.kernel_of(self.computes[host]).pids)

    def share_of(self, consumer):
        """Return what Placement has allocated of all hosts to a consumer."""
        allocations = self.placement.get(
            f'/allocations/{consumer}').body['allocations']
        return sum(allocation['resources'].get(shares.RESOURCE_CLASS, 0)
                   for allocation in allocations.values())

    def whole_of(self, server):
        """Return a server's allocations."""
        return {where: allocation['resources'] for where, allocation in
                self._get_allocations_by_server_uuid(server['id']).items()}

    def migration_of(self, server):
        return objects.MigrationList.get_by_filters(
            self.cell_context(), {'instance_uuid': server['id']})[-1]

    def assert_applied(self, *percents, host='host1'):
        self.eventually(lambda: self.assertEqual(
            [f'{percent}%' for percent in percents],
            self.applied_on(self.computes[host])))

    def assert_runs_on(self):
        """Assert that nothing was restarted."""
        self.assertEqual(self.pids, self.pids_on('host1'))

    def assert_as_it_was(self, percent=50):
        self.assert_runs_on()
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_applied(percent, percent, 0, 0)
        self.assert_settled(self.server)
        self.assert_audited()

    def refused_resize(self, flavor):
        """Ask for a resize that fails; return the fault."""
        self.api.post_server_action(self.server['id'], {
            'resize': {'flavorRef': flavor}})
        self._wait_for_migration_status(self.server, ['error'])
        self._wait_for_server_parameter(self.server, {
            'status': 'ACTIVE', 'OS-EXT-STS:task_state': None})
        # Nova notes it last.
        self.eventually(lambda: self.assertIsNotNone(
            objects.InstanceFault.get_latest_for_instance(
                self.cell_context(), self.server['id'])))
        return self.fault_of(self.server)


class TestResize(InPlaceTestCase):

    def test_grown_it_holds_the_new_on_the_same_pcpus_and_runs_on(self):
        self._resize_server(self.server, self.make_flavor(60, 2))
        self.assert_runs_on()
        self.assert_applied(60, 60, 0, 0)
        self.assert_ledgers([60, 60, 0, 0], [0] * 4)
        self.assert_audited()

    def test_shrunk_the_old_is_held_until_it_is_confirmed(self):
        self._resize_server(self.server, self.make_flavor(20, 2))
        self.assert_runs_on()
        self.assert_applied(20, 20, 0, 0)
        self.assert_ledgers([50, 50, 0, 0], [0] * 4)
        self.assertEqual(bandwidth.BW_UNIT, self.allocated_on('host1'))
        self.assert_audited()

    def test_confirmed_it_has_the_new_only(self):
        for percent in (60, 20):
            self._resize_server(self.server, self.make_flavor(percent, 2))
            self._confirm_resize(self.server)
            self.assert_as_it_was(percent)

    def test_reverted_it_has_the_old_only(self):
        for percent in (60, 20):
            before = self.whole_of(self.server)
            self._resize_server(self.server, self.make_flavor(percent, 2))
            self._revert_resize(self.server)
            self.assert_as_it_was()
            self.assertEqual(before, self.whole_of(self.server))
            shown = self.api.get_server(self.server['id'])['flavor']
            self.assertEqual('50000', shown['extra_specs'][cases.RUNTIME])

    def test_the_flavor_that_is_shown_is_the_new_one(self):
        self._resize_server(self.server, self.make_flavor(60, 2))
        self._confirm_resize(self.server)
        shown = self.api.get_server(self.server['id'])['flavor']
        self.assertEqual('60000', shown['extra_specs'][cases.RUNTIME])

    def test_a_period_alone_is_changed(self):
        self._resize_server(self.server, self.make_flavor(
            50, 2, period_us=200_000))
        kernel = self.kernel_of(self.computes['host1'])
        self.assertEqual('200000', kernel.read(
            f'machine/{self.server["id"]}', 'cpu.rt_period_us').strip())
        self._confirm_resize(self.server)
        self.assert_as_it_was()

    def test_a_stopped_server_is_started_with_the_new(self):
        self._stop_server(self.server)
        self._resize_server(self.server, self.make_flavor(60, 2))
        self.api.post_server_action(
            self.server['id'], {'confirmResize': None})
        self._wait_for_state_change(self.server, 'SHUTOFF')
        self.assert_applied(0, 0, 0, 0)
        self.assert_ledgers([60, 60, 0, 0], [0] * 4)
        self._start_server(self.server)
        self.assert_applied(60, 60, 0, 0)
        self.assert_audited()

    @full.only
    def test_a_stopped_server_that_is_reverted_stays_stopped(self):
        self._stop_server(self.server)
        self._resize_server(self.server, self.make_flavor(60, 2))
        self.api.post_server_action(self.server['id'], {'revertResize': None})
        self._wait_for_state_change(self.server, 'SHUTOFF')
        self.assert_ledgers([50, 50, 0, 0], [0] * 4)
        self.assert_audited()

    def test_deleted_while_it_is_resized_it_leaves_nothing(self):
        for percent in (60, 20):
            server = self.boot(self.flavor, az='nova:host2')
            self._resize_server(server, self.make_flavor(percent, 2))
            self._delete_server(server)
            self.assert_settled(self.server)
            self.assert_audited()

    def test_deleted_while_it_is_changed_it_leaves_nothing(self):
        driver = self.computes['host1'].manager.driver
        change = driver.change_reservation
        changed = []

        def delete_first(instance, holding):
            if not changed:
                changed.append(holding)
                self.api.delete_server(instance.uuid)
                self._wait_until_deleted(self.server)
            change(instance, holding)
        with mock.patch.object(driver, 'change_reservation', delete_first):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.make_flavor(60, 2)}})
            self._wait_until_deleted(self.server)
        self._run_periodics()
        self.assert_settled()
        self.assert_audited()

    def test_one_that_is_deleted_before_it_is_changed_stays_so(self):
        held = []
        with (mock.patch('nova.compute.rpcapi.ComputeAPI.resize_instance',
                         lambda *args, **kwargs: held.append(args)),
              mock.patch('nova.compute.rpcapi.ComputeAPI.terminate_instance')
              as lost):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.make_flavor(60, 2)}})
            self.eventually(lambda: self.assertNotEqual([], held))
            self.api.delete_server(self.server['id'])
            self.eventually(lambda: self.assertTrue(lost.called))
        (_, context, instance, migration, image, flavor, spec, clean), = held
        with pytest.raises(exception.UnexpectedDeletingTaskStateError):
            self.computes['host1'].manager.resize_instance(
                context, instance, image, migration, flavor, clean, spec)
        self.assertEqual('deleting',
                         self.instance_of(self.server).task_state)
        self.assertEqual('error', self.migration_of(self.server).status)
        self.start('host1')
        self._wait_until_deleted(self.server)
        self._run_periodics()
        self.assert_settled()
        self.assert_audited()

    def test_a_hint_still_overrides_and_nothing_but_the_flavor_changes(self):
        hinted = self.boot(self.flavor, az='nova:host2',
                           hints={'cpu.rt_runtime_us': '30000'})
        pids = self.pids_on('host2')
        self._resize_server(hinted, self.make_flavor(60, 2))
        self._confirm_resize(hinted)
        self.assertEqual(pids, self.pids_on('host2'))
        self.assert_applied(30, 30, 0, 0, host='host2')
        self.assert_settled(self.server, hinted)

    @full.only
    def test_resized_again_and_again_it_runs_on(self):
        for percent in (60, 95, 10, 50):
            self._resize_server(self.server, self.make_flavor(percent, 2))
            self._run_periodics()
            self._confirm_resize(self.server)
        self.assert_as_it_was()


class TestWithoutRoomForBoth(InPlaceTestCase):
    """A host on which old and new together never fit."""

    HOSTS = 1

    def test_it_grows_to_all_that_is_left(self):
        self._resize_server(self.server, self.make_flavor(95, 2))
        self._confirm_resize(self.server)
        self.assert_as_it_was(95)

    def test_on_a_host_that_is_full_it_grows_by_what_is_left(self):
        other = self.boot(self.make_flavor(95, 2))
        self._resize_server(self.server, self.make_flavor(95, 2))
        self.assert_ledgers([95] * 4)
        self._revert_resize(self.server)
        self.assert_settled(self.server, other)

    def test_on_a_host_that_is_full_to_the_last_unit_it_shrinks(self):
        other = self.boot(self.make_flavor(95, 2))
        self._resize_server(self.server, self.make_flavor(95, 2))
        self._confirm_resize(self.server)
        self._resize_server(self.server, self.make_flavor(50, 2))
        self._confirm_resize(self.server)
        self.assert_settled(self.server, other)

    def test_memory_is_not_asked_for_twice(self):
        provider = self._get_provider_uuid_by_host('host1')
        total = self._get_provider_inventory(provider)['MEMORY_MB']
        taken = int(total['total'] * total['allocation_ratio']) \
            - total['reserved'] - 64
        self.placement.put(f'/allocations/{uuidutils.generate_uuid()}', {
            'allocations': {provider: {'resources': {'MEMORY_MB': taken}}},
            'project_id': 'x', 'user_id': 'x', 'consumer_generation': None,
            'consumer_type': 'INSTANCE'}, version='1.38')
        self._resize_server(self.server, self.make_flavor(60, 2))
        self._confirm_resize(self.server)
        self.assert_as_it_was(60)
        ((_, what),) = self.whole_of(self.server).items()
        self.assertEqual(64, what['MEMORY_MB'])

    def test_what_was_held_back_for_a_revert_is_not_given_to_others(self):
        self._resize_server(self.server, self.make_flavor(10, 2))
        self.boot(self.make_flavor(60, 4), state='ERROR')
        self._revert_resize(self.server)
        self.assert_as_it_was()

    def test_confirmed_others_get_what_it_gave_up(self):
        self._resize_server(self.server, self.make_flavor(10, 2))
        self._confirm_resize(self.server)
        other = self.boot(self.make_flavor(85, 4))
        self.assert_settled(self.server, other)

    def test_on_a_host_that_offers_less_than_allocated_nothing_is_changed(
            self):
        self.start('host1', (bandwidth.BW_UNIT // 5,) * 4)
        self.api.post_server_action(self.server['id'], {
            'resize': {'flavorRef': self.make_flavor(40, 2)}})
        self._wait_for_migration_status(self.server, ['error'])
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.assert_runs_on()
        self.assert_applied(50, 50, 0, 0)

    def test_a_claim_that_comes_too_late_leaves_all_as_it_was(self):
        other = self.boot(self.make_flavor(95, 2))
        self.pids = self.pids_on('host1')
        tracker = self.computes['host1'].manager.rt
        check = tracker._check_in_place
        full = tracker.driver.reservations.empty

        def too_late(instance, flavor):
            wanted = flavors.reservation_of(flavor)
            with mock.patch.object(
                    type(tracker), 'shares', full.add(wanted, range(4))):
                return check(instance, flavor)
        with mock.patch.object(tracker, '_check_in_place', too_late):
            fault = self.refused_resize(self.make_flavor(80, 2))
        self.assertIn('no longer has room', fault)
        self.assert_runs_on()
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.server, other)


class TestNovasWay(InPlaceTestCase):
    """What cannot be done in place is done as Nova does it."""

    def resized(self, flavor):
        self._resize_server(self.server, flavor)
        self._confirm_resize(self.server)
        self.assertNotEqual(self.pids, self.pids_on('host1'))
        self.assert_settled(self.server)
        self.assert_audited()

    def test_a_flavor_with_more_memory_restarts_it(self):
        self.resized(self._create_flavor(
            vcpu=2, memory_mb=128, disk=1, extra_spec={
                cases.RUNTIME: '60000', cases.PERIOD: '100000'}))

    @full.only
    def test_a_flavor_with_another_policy_restarts_it(self):
        self.resized(self.make_flavor(60, 2, **{'hw:cpu.rt_policy': 'rr'}))

    def test_a_flavor_with_more_vcpus_restarts_it(self):
        self.resized(self.make_flavor(50, 3))

    def test_where_its_pcpus_have_no_room_it_is_restarted_elsewhere(self):
        other = self.boot(self.make_flavor(40, 4), az='nova:host1')
        self.pids = self.pids_on('host1')
        self._resize_server(self.server, self.make_flavor(60, 2))
        self._confirm_resize(self.server)
        self.assert_settled(self.server, other)
        self.assertEqual('host2', self.api.get_server(
            self.server['id'])['OS-EXT-SRV-ATTR:host'])

    def test_where_resizing_to_the_same_host_is_not_allowed_it_moves(self):
        self.flags(allow_resize_to_same_host=False)
        self.resized(self.make_flavor(60, 2))

    @full.only
    def test_from_a_disabled_host_it_moves(self):
        service = self.admin_api.get_services(
            host='host1', binary='nova-compute')[0]
        self.admin_api.put_service(service['id'], {'status': 'disabled'})
        self.resized(self.make_flavor(60, 2))

    def test_chosen_by_another_scheduler_it_is_changed_in_place_all_the_same(
            self):
        # One that asks for all, and counts both.
        with mock.patch('nova_rt.filters.in_place_resize.ask_to_stay',
                        return_value=False), mock.patch(
                'nova_rt.filters.rt_share_filter.RTShareFilter.filter_all',
                lambda _, hosts, spec: [host for host in hosts
                                        if host.host == 'host1']):
            self._resize_server(self.server, self.make_flavor(40, 2))
        self.assert_ledgers([50, 50, 0, 0], [0] * 4)
        self.assert_audited()
        self._confirm_resize(self.server)
        self.assert_as_it_was(40)


class TestRefusals(InPlaceTestCase):
    """All or nothing, whoever refuses."""

    HOSTS = 1

    def setUp(self):
        super().setUp()
        self.large = self.make_flavor(60, 2)
        self.kernel = self.kernel_of(self.computes['host1'])
        self.driver = self.computes['host1'].manager.driver

    def test_what_the_kernel_refuses_leaves_the_old_everywhere(self):
        self.kernel.refuse_containers = errno.EBUSY
        fault = self.refused_resize(self.large)
        self.kernel.refuse_containers = None
        self.assertIn('The kernel refused', fault)
        self.assert_as_it_was()

    def test_what_placement_refuses_leaves_the_old_everywhere(self):
        calls = []

        def once(*args, **kwargs):
            calls.append(args)
            if len(calls) == 1:
                raise exception.PlacementAPIConnectFailure()
            return share_out(*args, **kwargs)
        share_out = allocations.PlacementClient.share_out
        with mock.patch.object(allocations.PlacementClient, 'share_out', once):
            self.refused_resize(self.large)
        self.assert_as_it_was()

    def test_what_the_database_refuses_leaves_the_old_everywhere(self):
        save = objects.Instance.save

        def refuse(instance, *args, **kwargs):
            if 'vm_state' in instance.obj_what_changed() \
                    and instance.vm_state == 'resized':
                raise exception.DBNotAllowed(binary='x')
            return save(instance, *args, **kwargs)
        with mock.patch.object(objects.Instance, 'save', refuse):
            self.refused_resize(self.large)
        self.assert_as_it_was()

    def test_a_revert_that_the_kernel_refuses_leaves_it_resized(self):
        self._resize_server(self.server, self.large)
        with mock.patch.object(
                self.driver, 'change_reservation', side_effect=[
                    exception.ResizeError(reason='no'), None]):
            self.api.post_server_action(
                self.server['id'], {'revertResize': None})
            self._wait_for_server_parameter(self.server, {
                'status': 'VERIFY_RESIZE', 'OS-EXT-STS:task_state': None})
        self.assert_ledgers([60, 60, 0, 0])
        self.assert_audited()
        self._revert_resize(self.server)
        self.assert_as_it_was()

    def test_a_message_that_is_lost_leaves_the_old(self):
        with mock.patch('nova.compute.rpcapi.ComputeAPI.resize_instance',
                        side_effect=RuntimeError('the bus is gone')):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self._wait_for_migration_status(self.server, ['error'])
        self.assert_as_it_was()


class TestInterruptions(InPlaceTestCase):
    """The service is killed, and started again."""

    HOSTS = 1

    def setUp(self):
        super().setUp()
        self.large = self.make_flavor(60, 2)
        self.small = self.make_flavor(20, 2)

    def killed_in(self, target, method, flavor, after=False):
        """Resize, and lose the service before or after a call."""
        wrapped = getattr(target, method)
        died = []

        def die(*args, **kwargs):
            if after:
                wrapped(*args, **kwargs)
            died.append(method)
            raise killed.Killed
        with mock.patch.object(target, method, die):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': flavor}})
            self.eventually(lambda: self.assertNotEqual([], died))
        self.start('host1')

    def points(self):
        manager = self.computes['host1'].manager
        return (
            (manager.in_place_resize, '_change', False),
            (allocations.PlacementClient, 'share_out', False),
            (allocations.PlacementClient, 'share_out', True),
            (manager.driver, 'change_reservation', False),
            (manager.driver, 'change_reservation', True),
            (manager, '_set_instance_info', False))

    def test_killed_anywhere_in_a_resize_it_has_the_old(self):
        for flavor in (self.large, self.small):
            for i in range(len(self.points())):
                target, method, after = self.points()[i]
                self.killed_in(target, method, flavor, after)
                self._wait_for_server_parameter(self.server, {
                    'status': 'ACTIVE', 'OS-EXT-STS:task_state': None})
                self.assert_as_it_was()
                self.assertEqual('error',
                                 self.migration_of(self.server).status)

    def test_killed_before_the_message_arrives_it_has_the_old(self):
        with mock.patch(
                'nova.compute.rpcapi.ComputeAPI.resize_instance') as lost:
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self.eventually(lambda: self.assertTrue(lost.called))
        self.assertIn(
            'rt_in_place', self.instance_of(self.server).system_metadata)
        self.start('host1')
        self.assert_as_it_was()

    def test_killed_before_the_claim_placement_has_the_old(self):
        other = self.boot(self.make_flavor(95, 2))
        before = self.whole_of(self.server)
        with mock.patch('nova.compute.rpcapi.ComputeAPI.prep_resize') as lost:
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self.eventually(lambda: self.assertTrue(lost.called))
        self.assertNotEqual(before, self.whole_of(self.server))
        self.start('host1')
        self.assertEqual(before, self.whole_of(self.server))
        self.assertEqual('error', self.migration_of(self.server).status)
        self.assert_settled(self.server, other)
        self.assert_audited()

    def test_a_message_that_arrives_after_that_changes_nothing(self):
        held = []
        with mock.patch('nova.compute.rpcapi.ComputeAPI.resize_instance',
                        lambda *args, **kwargs: held.append(args)):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self.eventually(lambda: self.assertNotEqual([], held))
        self.start('host1')
        (_, context, instance, migration, image, flavor, spec, clean), = held
        self.computes['host1'].manager.resize_instance(
            context, instance, image, migration, flavor, clean, spec)
        self.assert_as_it_was()

    def test_restarted_while_it_is_resized_it_goes_both_ways(self):
        for way in (self._revert_resize, self._confirm_resize):
            self._resize_server(self.server, self.large)
            self.start('host1')
            self.assert_ledgers([60, 60, 0, 0])
            self.assert_audited()
            way(self.server)
        self.assert_as_it_was(60)

    def test_killed_in_a_revert_it_has_the_old(self):
        for part, method in (('', 'revert_resize'),
                             ('in_place_resize', '_record_undone')):
            self._resize_server(self.server, self.small)
            manager = self.computes['host1'].manager
            with mock.patch.object(
                    getattr(manager, part) if part else manager, method,
                    side_effect=killed.Killed) as died:
                self.api.post_server_action(
                    self.server['id'], {'revertResize': None})
                self.eventually(died.assert_called_once)
            self.start('host1')
            self._wait_for_state_change(self.server, 'ACTIVE')
            self.assert_as_it_was()

    def test_killed_in_a_confirmation_it_has_the_new(self):
        self._resize_server(self.server, self.small)
        with mock.patch('nova.compute.rpcapi.ComputeAPI.confirm_resize'):
            self.api.post_server_action(
                self.server['id'], {'confirmResize': None},
                check_response_status=[204])
        self.start('host1')
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.assert_as_it_was(20)

    def test_a_confirmation_that_arrives_after_that_changes_nothing(self):
        self._resize_server(self.server, self.small)
        held = []
        with mock.patch('nova.compute.rpcapi.ComputeAPI.confirm_resize',
                        lambda *args, **kwargs: held.append(args)):
            self.api.post_server_action(
                self.server['id'], {'confirmResize': None},
                check_response_status=[204])
        self.start('host1')
        (_, context, instance, migration, *_), = held
        self.computes['host1'].manager.confirm_resize(
            context, instance, migration)
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.assertEqual('confirmed', self.migration_of(self.server).status)
        self.assert_as_it_was(20)
