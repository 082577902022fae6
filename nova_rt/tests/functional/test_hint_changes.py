# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage reservation set, on Nova's fixtures."""

import argparse
import contextlib
import errno
import threading
from unittest import mock

from nova import exception
from nova import objects
from nova import utils
from nova.compute import resource_tracker
from oslo_db import exception as db_exc
import oslo_messaging
import pytest

from nova_rt import allocations
from nova_rt import bandwidth
from nova_rt.cmd import manage_base
from nova_rt.cmd import manage_reservation
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.testing import cases
from nova_rt.testing import full
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_in_place


class HintTestCase(test_in_place.InPlaceTestCase):
    """The flavor says 50%, the hint 30%; a server that is not hinted besides."""

    HOSTS = 1
    RUNTIME = 30_000

    def setUp(self):
        super().setUp()
        self._delete_server(self.server)
        self.server = self.boot(self.flavor, az='nova:host1', hints={
            'hw:cpu.rt_runtime_us': str(self.RUNTIME)})
        self.pids = self.pids_on('host1')

    def set(self, runtime_us=None, period_us=None, server=None):
        """Run the command; return what it prints."""
        command = manage_reservation.Set(None, None)
        server_id = (server or self.server)['id']
        with manage_base.explained(server_id):
            columns, row = command.take_action(argparse.Namespace(
                server=server_id, runtime_us=runtime_us and str(runtime_us),
                period_us=period_us and str(period_us)))
        return dict(zip(columns, row, strict=True))

    def refused(self, *args, **kwargs):
        """Run the command, which fails; return its sentence."""
        with pytest.raises(manage_base.CommandError) as refused:
            self.set(*args, **kwargs)
        return str(refused.value)

    def hints_of(self, server):
        spec = objects.RequestSpec.get_by_instance_uuid(
            self.cell_context(), server['id'])
        return spec.scheduler_hints

    def assert_has(self, percent, **hints):
        self.assertEqual(
            {name: [str(value)] for name, value in hints.items()},
            {name.rpartition('.')[2]: value for name, value
             in self.hints_of(self.server).items()})
        self.assertIsNone(
            self.api.get_server(self.server['id'])['OS-EXT-STS:task_state'])
        self.assert_as_it_was(percent)


class TestSet(HintTestCase):

    def test_hint_and_reservation_are_changed_and_it_runs_on(self):
        for percent in (60, 20, 95):
            self.assertEqual(
                {'server': self.server['id'], 'runtime_us': percent * 1000,
                 'period_us': 100_000, 'vcpus': 2}, self.set(percent * 1000))
            self.assert_has(percent, rt_runtime_us=percent * 1000)
            shown = self.api.get_server(self.server['id'])['flavor']
            self.assertEqual(str(percent * 1000),
                             shown['extra_specs'][cases.RUNTIME])

    def test_a_period_is_hinted_when_it_is_changed(self):
        self.set(period_us=200_000)
        self.assert_has(15, rt_runtime_us=30_000, rt_period_us=200_000)

    def test_a_server_without_a_hint_gets_one(self):
        plain = self.boot(self.flavor)
        self.set(40_000, server=plain)
        self.assertEqual({'cpu.rt_runtime_us': ['40000']},
                         self.hints_of(plain))
        self.assert_settled(self.server, plain)

    def test_the_new_hint_overrides_in_later_resizes_and_moves(self):
        self.set(60_000)
        self._resize_server(self.server, self.make_flavor(
            10, 2, memory_mb=128))
        self._confirm_resize(self.server)
        self.assertEqual(60_000, flavors.reservation_of(
            self.instance_of(self.server).flavor).runtime_us)
        self.assert_settled(self.server)

    def test_a_stopped_server_starts_with_the_new(self):
        self._stop_server(self.server)
        self.set(60_000)
        self.assert_ledgers([60, 60, 0, 0])
        self._start_server(self.server)
        self.assert_applied(60, 60, 0, 0)
        self.assert_settled(self.server)

    def test_what_it_has_already_changes_nothing(self):
        self.set(30_000, 100_000)
        self.assert_has(30, rt_runtime_us=30_000)


class TestRefusals(HintTestCase):

    def assert_unchanged(self):
        self.assert_has(30, rt_runtime_us=30_000)

    def test_without_room_on_its_pcpus_it_stays_as_it_was(self):
        other = self.boot(self.make_flavor(40, 4))
        self.pids = self.pids_on('host1')
        sentence = self.refused(60_000)
        self.assertIn('30% more is needed', sentence)
        self.assertIn('has 25% left', sentence)
        self._delete_server(other)
        self.pids = self.pids_on('host1')
        self.assert_unchanged()

    def test_what_the_kernel_refuses_leaves_the_old_everywhere(self):
        kernel = self.kernel_of(self.computes['host1'])
        kernel.refuse_containers = errno.EBUSY
        self.assertIn('The kernel refused', self.refused(60_000))
        kernel.refuse_containers = None
        self.assert_unchanged()

    def test_what_placement_refuses_leaves_the_old_everywhere(self):
        with mock.patch('nova_rt.allocations.PlacementClient.set_share', side_effect=[
                False, True]):
            self.assertIn('Placement has not enough', self.refused(60_000))
        self.assert_unchanged()

    def test_what_cannot_be_is_refused_before_anything_is_touched(self):
        for runtime_us, words in (('x', 'whole number'), (200_000, 'longer'),
                                  (97_000, 'can be reserved'), (1, 'below')):
            self.assertIn(words, self.refused(runtime_us))
        self.assert_unchanged()

    def test_while_another_operation_is_under_way_it_is_refused(self):
        instance = self.instance_of(self.server)
        instance.task_state = 'rebooting'
        instance.save()
        self.assertIn('under way', self.refused(60_000))
        instance.task_state = None
        instance.save()
        self.assert_unchanged()

    def test_while_it_is_resized_it_is_refused(self):
        self._resize_server(self.server, self.make_flavor(60, 2))
        self.assertIn('active or stopped', self.refused(60_000))

    def test_a_server_without_a_reservation_or_a_host_is_refused(self):
        plain = self.boot(self._create_flavor(vcpu=1, memory_mb=64, disk=1))
        self.assertIn('has no reservation', self.refused(1000, server=plain))
        self.flags(shelved_offload_time=0)
        self._shelve_server(self.server)
        # Nova takes it from its host last.
        self.eventually(
            lambda: self.assertIn('on no host', self.refused(60_000)))

    def test_a_database_that_is_away_is_one_sentence(self):
        away = db_exc.CantStartEngineError('No sql_connection is set')
        with mock.patch.object(objects.InstanceMapping, 'get_by_instance_uuid',
                               side_effect=away):
            self.assertEqual('A database cannot be read: No sql_connection '
                             'is set.', self.refused(60_000))

    def test_a_server_that_nova_does_not_know_is_one_sentence(self):
        self.assertIn('knows no server', self.refused(60_000, server={
            'id': '12345678-1234-4234-8234-123456789012'}))


class TestClaims(HintTestCase):

    HOSTS = 2

    def test_no_periodic_task_comes_between_what_is_held_and_what_is_saved(
            self):
        save = objects.Instance.save
        free = threading.Event()

        @utils.synchronized(resource_tracker.COMPUTE_RESOURCE_SEMAPHORE,
                            fair=True)
        def periodic():
            free.set()

        def saved(instance, *args, **kwargs):
            if instance.task_state == in_place.CHANGING and not other.ident:
                other.start()
                self.assertFalse(free.wait(0.3))
            save(instance, *args, **kwargs)
        other = threading.Thread(target=periodic)
        with mock.patch.object(objects.Instance, 'save', saved):
            self.set(60_000)
        other.join(60)
        self.assertTrue(free.is_set())
        self.assert_has(60, rt_runtime_us=60_000)

    def test_just_after_a_migration_it_is_counted_once(self):
        self._migrate_server(self.server)
        self._confirm_resize(self.server)
        there = self.computes[
            self.api.get_server(self.server['id'])['OS-EXT-SRV-ATTR:host']]
        self.set(20_000)
        self.assertEqual([20, 20, 0, 0], [
            round(100 * used / bandwidth.BW_UNIT)
            for used in there.manager.rt.shares.used])

    def test_after_a_resize_that_failed_the_larger_is_held_meanwhile(self):
        """Nova takes what locks the server for the resize."""
        self.flags(allow_resize_to_same_host=False)
        driver = self.computes['host1'].manager.driver
        with mock.patch.object(driver, 'migrate_disk_and_power_off',
                               side_effect=exception.InstanceFaultRollback(
                                   exception.ResizeError(reason='the disk would shrink'))):
            self.refused_resize(self.make_flavor(10, 2, memory_mb=32))
        change, held = driver.change_reservation, []

        def look_first(*args):
            self._run_periodics()
            held.extend(self.used_on(compute) for compute in self.computes.values())
            change(*args)
        with mock.patch.object(driver, 'change_reservation', look_first):
            self.set(60_000)
        self.assertEqual([['60%', '60%', '0%', '0%'], ['0%'] * 4], held)
        self.assert_has(60, rt_runtime_us=60_000)


class TestLeft(HintTestCase):

    HOSTS = 2

    def test_its_former_host_changes_nothing(self):
        """What it is asked may have waited for it while the server left."""
        self._migrate_server(self.server)
        self._confirm_resize(self.server)
        with pytest.raises(oslo_messaging.ExpectedException) as refused:
            self.computes['host1'].manager.change_reservation(
                self.cell_context(), self.instance_of(self.server), 20_000, 100_000)
        self.assertIn('no longer on host1', str(refused.value.exc_info[1]))
        self.assertIsNone(self.instance_of(self.server).task_state)
        self.assert_ledgers([0] * 4, [30, 30, 0, 0])
        self.assert_settled(self.server)
        self.assert_audited()


class TestInterruptions(HintTestCase):

    def test_killed_before_the_hint_is_stored_it_is_locked_and_then_finished(
            self):
        with mock.patch.object(objects.RequestSpec, 'save',
                               side_effect=exception.NotFound()):
            self.refused(60_000)
        shown = self.api.get_server(self.server['id'])
        self.assertEqual('resize_finish', shown['OS-EXT-STS:task_state'])
        self.start('host1')
        self.assert_applied(60, 60, 0, 0)
        self.set()
        self.assert_has(60, rt_runtime_us=60_000)

    @full.only
    def test_unlocked_by_an_operator_it_is_finished_all_the_same(self):
        with mock.patch.object(objects.RequestSpec, 'save',
                               side_effect=exception.NotFound()):
            self.refused(60_000)
        self.admin_api.post_server_action(
            self.server['id'], {'os-resetState': {'state': 'active'}})
        self.set()
        self.assert_has(60, rt_runtime_us=60_000)

    def test_killed_before_it_is_unlocked_it_is_finished(self):
        unlock = objects.Instance.save

        def die(instance, *args, **kwargs):
            if kwargs.get('expected_task_state') == ['resize_finish', None]:
                raise exception.NotFound
            return unlock(instance, *args, **kwargs)
        with mock.patch.object(objects.Instance, 'save', die):
            self.refused(60_000)
        self.set(70_000)
        self.assert_has(70, rt_runtime_us=70_000)

    def test_an_operation_that_comes_before_it_is_unlocked_is_told(self):
        unlock = objects.Instance.save

        def late(instance, *args, **kwargs):
            if kwargs.get('expected_task_state') == ['resize_finish', None]:
                raise exception.UnexpectedTaskStateError(
                    instance_uuid=instance.uuid, expected='resize_finish', actual='deleting')
            return unlock(instance, *args, **kwargs)
        with mock.patch.object(objects.Instance, 'save', late):
            self.assertIn('Another operation on the server is under way', self.refused(60_000))
        self.set()
        self.assert_has(60, rt_runtime_us=60_000)

    def test_nova_rt_compute_that_is_killed_undoes_it_when_it_starts(self):
        for percent, most in ((60, 60), (20, 30)):
            for called in ('nova.objects.instance.Instance.save', None):
                self.killed_at(called, percent)
                self._run_periodics()
                self.assert_ledgers([most, most, 0, 0])
                self.start('host1')
                self.assert_has(30, rt_runtime_us=30_000)

    def killed_at(self, called, percent):
        """Lose the service in a change, when it calls something; None: before all else."""
        with killed.in_change(self.computes['host1'], called, _Killed):
            self.assertIn('does not answer', self.refused(percent * 1000))

    def test_killed_before_placement_is_told_it_is_told_when_it_starts(self):
        with mock.patch.object(allocations.PlacementClient, 'try_to_set_share',
                               side_effect=_Killed):
            self.assertIn('does not answer', self.refused(20_000))
        self.set()
        before = self.allocated_on('host1')
        self.start('host1')
        self.assertEqual(2 * bandwidth.to_bandwidth(10_000, 100_000),
                         before - self.allocated_on('host1'))
        self.assert_has(20, rt_runtime_us=20_000)

    def test_killed_while_nova_saves_it_is_completed_when_it_starts(self):
        for percent in (20, 60):
            self.killed_at(killed.FLAVOR_SAVED, percent)
            self.start('host1')
            self.set()
            self._run_periodics()
            self.assert_has(percent, rt_runtime_us=percent * 1000)
            self.assertEqual(self.computes['host1'].manager.rt.shares.rt_share_used,
                             self.allocated_on('host1'))

    def test_a_database_that_goes_away_in_the_middle_leaves_the_larger_claimed(self):
        changes = self.computes['host1'].manager.reservation_change
        change, away = changes._change, db_exc.DBConnectionError()

        def lose(*args):
            patches.enter_context(mock.patch.object(objects.Instance, 'save', side_effect=away))
            patches.enter_context(mock.patch.object(holdings, 'fetch', side_effect=away))
            change(*args)
        with (contextlib.ExitStack() as patches,
              mock.patch.object(changes, '_change', lose)):
            self.refused(20_000)
        self.assertEqual(['30%', '30%', '0%', '0%'], self.used_on(self.computes['host1']))
        self.assert_ledgers([30, 30, 0, 0])
        self.computes['host1'].manager._undo_changes(self.cell_context())
        self.assert_has(30, rt_runtime_us=30_000)

    def test_placement_that_is_away_is_told_within_a_minute(self):
        before = self.allocated_on('host1')
        with mock.patch.object(allocations.PlacementClient, 'set_share',
                               side_effect=exception.PlacementAPIConnectFailure):
            self.set(20_000)
            self._run_periodics()
        self.assertEqual(before, self.allocated_on('host1'))
        self._run_periodics()
        self.assertEqual(2 * bandwidth.to_bandwidth(10_000, 100_000),
                         before - self.allocated_on('host1'))
        with mock.patch.object(allocations.PlacementClient, 'set_share') as told:
            self._run_periodics()
        told.assert_not_called()


class _Killed(oslo_messaging.MessagingTimeout):
    """Stands for the end of the process: what its caller sees of it."""
