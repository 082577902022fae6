# SPDX-License-Identifier: Apache-2.0
"""Virtual machines with reservations go through Nova as containers do."""

import errno
from unittest import mock

from nova import exception
import pytest

from nova_rt import bandwidth
from nova_rt import drifts
from nova_rt import reservation
from nova_rt.instance import compute_call
from nova_rt.instance import hint_update
from nova_rt.instance import in_place
from nova_rt.testing import cloud
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import errors


class TestMachines(cloud.CloudTestCase):
    """A virtual machine with 50% of two pCPUs on host1, and an empty host2."""

    compute_driver = 'fake.FakeMachineDriver'

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')
        self.flags(allow_resize_to_same_host=True)
        for host in ('host1', 'host2'):
            self.start(host)
        self.flavor = self.make_flavor(50, 2)
        self.server = self.boot(self.flavor, az='nova:host1')

    def hypervisor(self, host='host1'):
        return self.computes[host].manager.driver.hypervisor

    def assert_runs(self, *percents, host='host1', starts=1):
        """Assert what runs, and that it ran with nothing else ever."""
        self.eventually(lambda: self.assertEqual(
            [f'{percent}%' for percent in percents], self.applied_on(self.computes[host])))
        half = bandwidth.to_bandwidth(50, 100)
        self.assertEqual([(self.server['id'], [half, half])] * starts,
                         self.hypervisor(host).resumed)
        self.assert_settled(self.server)
        self.assert_audited()

    def act(self, status='ACTIVE', **action):
        self.api.post_server_action(self.server['id'], action)
        self._wait_for_state_change(self.server, status)

    def test_it_runs_with_its_reservation_from_the_start(self):
        self.assert_runs(50, 50, 0, 0)
        stats = self.computes['host1'].manager.rt.compute_nodes['host1'].stats
        self.assertEqual('deadline', stats['rt_dialect'])
        self.assertEqual('chosen', stats['rt_occupancy'])

    def test_the_next_goes_to_other_pcpus_and_the_sum_is_never_over_the_cap(self):
        other = self.boot(self.make_flavor(60, 2), az='nova:host1')
        self.assertEqual((2, 3), self.pcpus_of(other))
        refused = self.boot(self.make_flavor(60, 1), state='ERROR', az='nova:host1')
        self.assertIn('reservation', self.fault_of(refused))
        self.assertEqual(['50%', '50%', '60%', '60%'], self.applied_on(self.computes['host1']))

    def test_a_machine_without_a_reservation_runs_beside_it(self):
        plain = self.boot(self._create_flavor(vcpu=2, memory_mb=64, disk=1),
                          az='nova:host1')
        self.assertEqual((plain['id'], [0, 0]), self.hypervisor().resumed[-1])
        self.assertEqual(['50%', '50%', '0%', '0%'], self.applied_on(self.computes['host1']))

    def test_stopped_it_has_nothing_in_the_kernel_and_started_all_again(self):
        self._stop_server(self.server)
        self.assertEqual(['0%'] * 4, self.applied_on(self.computes['host1']))
        self.act(**{'os-start': None})
        self.assert_runs(50, 50, 0, 0, starts=2)

    def test_rebooted_it_has_its_reservation(self):
        for starts, kind in enumerate(('HARD', 'SOFT'), 2):
            self.act(reboot={'type': kind})
            self.assert_runs(50, 50, 0, 0, starts=starts)

    def test_suspended_and_resumed_it_has_its_reservation(self):
        self.act('SUSPENDED', suspend=None)
        self.assertEqual(['0%'] * 4, self.applied_on(self.computes['host1']))
        self.act(resume=None)
        self.assert_runs(50, 50, 0, 0, starts=2)

    def test_paused_and_unpaused_it_keeps_its_reservation(self):
        self.act('PAUSED', pause=None)
        self.assertEqual(['50%', '50%', '0%', '0%'], self.applied_on(self.computes['host1']))
        self.act(unpause=None)
        self.assert_runs(50, 50, 0, 0)

    def test_rescued_and_unrescued_it_has_its_reservation(self):
        self.act('RESCUE', rescue={})
        self.act(unrescue=None)
        self.assert_runs(50, 50, 0, 0, starts=3)

    def test_deleted_nothing_is_left(self):
        self._delete_server(self.server)
        self.assertEqual(['0%'] * 4, self.applied_on(self.computes['host1']))
        self.assertEqual(0, self.allocated_on('host1'))
        self.assert_audited()

    def test_migrated_cold_it_has_its_reservation_on_the_other_host(self):
        self._migrate_server(self.server)
        self._confirm_resize(self.server)
        self.assertEqual(['0%'] * 4, self.applied_on(self.computes['host1']))
        self.assert_runs(50, 50, 0, 0, host='host2')

    def test_resized_in_place_it_runs_on_with_the_new(self):
        domains = dict(self.hypervisor().domains)
        self._resize_server(self.server, self.make_flavor(70, 2))
        self._confirm_resize(self.server)
        self.assertEqual(domains, self.hypervisor().domains)
        self.assert_runs(70, 70, 0, 0)

    def test_a_resize_in_place_that_the_kernel_refuses_leaves_all_vcpus_as_they_were(self):
        (_, threads), = self.hypervisor().domains.values()
        self.hypervisor().refuse[threads[1]] = errno.EBUSY
        self.api.post_server_action(self.server['id'], {
            'resize': {'flavorRef': self.make_flavor(70, 2)}})
        self._wait_for_migration_status(self.server, ['error'])
        self.eventually(lambda: self.assertIn('EBUSY', self.fault_of(self.server)))
        self.assert_runs(50, 50, 0, 0)

    def change(self, runtime_us):
        hint_update.change(self.cell_context(), self.server['id'],
                           reservation.Times(runtime_us), cloud.CAP)

    def silent(self):
        """Have QEMU not say which threads its vCPUs are."""
        return mock.patch.object(
            self.computes['host1'].manager.driver.reservations, '_threads_of',
            side_effect=errors.DeadlineError('QEMU is silent.'))

    def test_a_change_while_qemu_is_silent_is_refused_and_all_is_as_it_was(self):
        with self.silent(), pytest.raises(
                compute_call.RefusedError, match='as it was: QEMU is silent'):
            self.change(20_000)
        self.assertIsNone(self.instance_of(self.server).task_state)
        self.assert_runs(50, 50, 0, 0)

    def test_a_resize_in_place_while_qemu_is_silent_leaves_all_as_it_was(self):
        with self.silent():
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.make_flavor(70, 2)}})
            self._wait_for_migration_status(self.server, ['error'])
            self.eventually(lambda: self.assertIn('silent', self.fault_of(self.server)))
        self.assert_runs(50, 50, 0, 0)

    def test_a_change_that_cannot_be_undone_is_told_and_undone_within_a_minute(self):
        compute = self.computes['host1'].manager
        with mock.patch.object(compute.driver, 'change_reservation',
                               side_effect=exception.ResizeError(reason='libvirt is away')):
            with pytest.raises(compute_call.UnansweredError,
                               match=r'not be undone \(libvirt is away\)\. The server stays'):
                self.change(70_000)
            compute._undo_changes(self.cell_context())
        self.assertEqual(in_place.CHANGING, self.instance_of(self.server).task_state)
        self.assertEqual(['70%', '70%', '0%', '0%'], self.used_on(self.computes['host1']))
        compute._undo_changes(self.cell_context())
        self.assertIsNone(self.instance_of(self.server).task_state)
        self.assert_runs(50, 50, 0, 0)

    def test_a_resize_in_place_that_cannot_be_taken_back_is_within_a_minute(self):
        compute = self.computes['host1'].manager
        with mock.patch.object(compute.driver, 'change_reservation',
                               side_effect=exception.ResizeError(reason='libvirt is away')):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.make_flavor(70, 2)}})
            self.eventually(lambda: self.assertIn('away', self.fault_of(self.server)))
            self.eventually(lambda: self.assertIsNone(
                self.instance_of(self.server).task_state))
            compute._undo_changes(self.cell_context())
            self.assertIsNone(self.instance_of(self.server).task_state)
        self.assertEqual(['70%', '70%', '0%', '0%'], self.used_on(self.computes['host1']))
        compute._undo_changes(self.cell_context())
        self.assert_runs(50, 50, 0, 0)
        self._wait_for_migration_status(self.server, ['error'])
        self._resize_server(self.server, self.make_flavor(60, 2))
        compute._undo_changes(self.cell_context())
        self._confirm_resize(self.server)
        self.assert_runs(60, 60, 0, 0)

    def state_of(self, server):
        instance = self.instance_of(server)
        return instance.vm_state, instance.task_state

    def test_a_revert_while_libvirt_is_away_can_be_repeated(self):
        self._resize_server(self.server, self.make_flavor(70, 2))
        with mock.patch.object(self.computes['host1'].manager.driver, 'change_reservation',
                               side_effect=exception.ResizeError(reason='libvirt is away')):
            self.api.post_server_action(self.server['id'], {'revertResize': None})
            self.eventually(lambda: self.assertEqual(
                ('resized', None), self.state_of(self.server)))
        self.assertEqual(['70%', '70%', '0%', '0%'], self.used_on(self.computes['host1']))
        self._revert_resize(self.server)
        self.assert_runs(50, 50, 0, 0)

    def test_what_a_revert_that_failed_took_away_is_given_again_within_a_minute(self):
        compute = self.computes['host1'].manager
        self._resize_server(self.server, self.make_flavor(70, 2))
        change = compute.driver.change_reservation
        with (mock.patch.object(compute.driver, 'change_reservation', side_effect=[
                  None, exception.ResizeError(reason='libvirt is away')]) as asked,
              mock.patch.object(compute.in_place_resize, '_share_out',
                                side_effect=exception.PlacementAPIConnectFailure)):
            self.api.post_server_action(self.server['id'], {'revertResize': None})
            self.eventually(lambda: self.assertEqual(2, asked.call_count))
            self.eventually(lambda: self.assertEqual(
                ('resized', None), self.state_of(self.server)))
            # The first of them has been done.
            change(*asked.call_args_list[0].args)
        self.assertEqual(['50%', '50%', '0%', '0%'], self.applied_on(self.computes['host1']))
        compute._undo_changes(self.cell_context())
        self._confirm_resize(self.server)
        self.assert_runs(70, 70, 0, 0)

    def test_what_is_deleted_needs_not_be_undone(self):
        compute = self.computes['host1'].manager
        with (mock.patch.object(compute.driver, 'change_reservation',
                                side_effect=exception.ResizeError(reason='libvirt is away')),
              pytest.raises(compute_call.UnansweredError)):
            self.change(70_000)
        self._delete_server(self.server)
        compute._undo_changes(self.cell_context())
        self.assertEqual(0, self.allocated_on('host1'))
        self.assert_audited()

    def test_a_start_that_the_kernel_refuses_is_a_fault_and_nothing_has_run(self):
        hypervisor = self.hypervisor('host2')
        hypervisor.refuse[hypervisor._next + 1] = errno.EBUSY
        refused = self.boot(self.flavor, state='ERROR', az='nova:host2')
        self.assertIn('EBUSY', self.fault_of(refused))
        self.assertEqual([], hypervisor.resumed)
        self.assertEqual({}, hypervisor.domains)
        self.assertEqual(['0%'] * 4, self.applied_on(self.computes['host2']))

    def test_drift_is_reported_and_taken_back_when_the_service_starts(self):
        (_, threads), = self.hypervisor().domains.values()
        self.hypervisor().write(threads[0], attributes.Attributes())
        drift, = self.auditor_of('host1').look()
        self.assertEqual((drifts.Kind.KERNEL_LACKS, self.server['id']),
                         (drift.kind, drift.subject))
        self.start('host1')
        self.assert_runs(50, 50, 0, 0)

    def test_drift_is_healed_by_the_audit(self):
        (_, threads), = self.hypervisor().domains.values()
        self.hypervisor().write(threads[0], attributes.Attributes())
        auditor = self.auditor_of('host1')
        drift, = auditor.look()
        self.assertEqual('', auditor.heal(drift))
        self.assert_runs(50, 50, 0, 0)
