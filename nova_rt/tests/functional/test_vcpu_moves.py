# SPDX-License-Identifier: Apache-2.0
"""Moves of vCPUs between the pCPUs of a host, on Nova's fixtures."""

import contextlib
import errno
import threading
import types
from unittest import mock

from nova import exception
from nova import objects
from nova.compute import task_states
from oslo_db import exception as db_exc
import pytest

from nova_rt.compute import vcpu_moves
from nova_rt.instance import compute_call
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import vcpu_move
from nova_rt.instance import vcpu_move_request
from nova_rt.testing import cloud
from nova_rt.testing import fake_driver
from nova_rt.testing import full


class MoveTestCase(cloud.CloudTestCase):
    """A server of 40% on pCPUs 0 and 1, of four."""

    def setUp(self):
        super().setUp()
        cloud.FakeContainerDriver.kernels['host1'] = fake_driver.WatchedKernel(
            cloud.PCPUS, multi=True)
        self.start('host1')
        self.server = self.boot(self.make_flavor(40, 2))
        self.assertEqual({0, 1}, set(self.pcpus_of(self.server)))

    @property
    def compute(self):
        return self.computes['host1']

    def move(self, source, target, server=None):
        """Ask for a move as the API does."""
        vcpu_move_request.move(
            self.cell_context(), (server or self.server)['id'], 'host1', source, target)

    def refused(self, source, target, server=None):
        """Ask for a move, which is refused; return the sentence."""
        with pytest.raises(compute_call.RefusedError) as refused:
            self.move(source, target, server)
        return str(refused.value)

    def assert_is_on(self, *pcpus):
        self.assertEqual(set(pcpus), set(self.pcpus_of(self.server)))
        self.assertIsNone(self.instance_of(self.server).task_state)
        self.assert_settled(self.server)
        self.assert_audited()


class _Moves:
    """What holds for containers and for virtual machines."""

    def test_one_vcpu_goes_and_the_other_stays(self):
        self.move(1, 3)
        self.assert_is_on(0, 3)
        self.move(0, 1)
        self.assert_is_on(1, 3)

    def test_what_it_leaves_is_free_and_what_it_has_is_not(self):
        self.move(1, 3)
        other = self.boot(self.make_flavor(90, 2))
        self.assertEqual({1, 2}, set(self.pcpus_of(other)))
        self.assertIn('40% is needed on pCPU 1, which has 5% left', self.refused(0, 1))
        self._delete_server(other)
        self.assert_is_on(0, 3)

    def test_both_pcpus_are_held_until_it_is_over(self):
        seen = []

        def look(driver, instance):
            seen.append((self.used_on(self.compute), instance.task_state,
                         in_place.by_move(self.instance_of(self.server))))
            carry_out(driver, instance)
        carry_out = vcpu_moves.carry_out
        with mock.patch.object(vcpu_moves, 'carry_out', look):
            self.move(1, 3)
        self.assertEqual([(['40%', '40%', '0%', '40%'], vcpu_move.LOCKED, True)], seen)
        self.assert_is_on(0, 3)

    def test_the_kernel_has_both_until_the_last_moment(self):
        def sleep(seconds):
            self.assertAlmostEqual(0.1, seconds)
            held.append(self.used_on(self.compute))
        held = []
        with mock.patch.object(vcpu_moves, 'time', types.SimpleNamespace(sleep=sleep)):
            self.move(1, 3)
        self.assertEqual([['40%', '40%', '0%', '40%']], held)

    def test_what_makes_no_sense_is_refused_before_anything_is_touched(self):
        for source, target, words in (
                (2, 3, 'no vCPU on pCPU 2'), (0, 1, 'a vCPU on pCPU 1 already'),
                (0, 9, 'no vCPU can be moved to pCPU 9')):
            self.assertIn(words, self.refused(source, target))
        self.assert_is_on(0, 1)

    def test_a_server_that_has_left_the_host_is_not_moved_on_another(self):
        with pytest.raises(compute_call.RefusedError, match='no longer on host7'):
            vcpu_move_request.move(self.cell_context(), self.server['id'], 'host7', 1, 3)
        fetch = holdings.fetch

        def elsewhere(context, server):
            instance = fetch(context, server)
            instance.host = instance.node = 'host7'
            return instance
        with (mock.patch.object(holdings, 'fetch', elsewhere),
              pytest.raises(exception.MigrationError, match='it has left this host')):
            self.compute.manager.rt.move_vcpu(
                self.cell_context(), self.server['id'], 1, 3)
        self.assert_is_on(0, 1)

    def test_a_resize_that_was_refused_before_changes_nothing_of_a_move(self):
        # Nova saves the new flavor before the claim, and leaves it there.
        flavor = self.make_flavor(80, 2)
        instance = self.instance_of(self.server)
        instance.new_flavor = objects.Flavor.get_by_flavor_id(self.cell_context(), flavor)
        instance.save()
        self.move(1, 3)
        self.assert_is_on(0, 3)

    def test_a_save_whose_answer_is_lost_has_been_made(self):
        def save(instance, *args, **kwargs):
            saved(instance, *args, **kwargs)
            if kwargs.get('expected_task_state') == [vcpu_move.LOCKED, None]:
                raise db_exc.DBConnectionError
        saved = objects.Instance.save
        with mock.patch.object(objects.Instance, 'save', save):
            self.assertIn('Whether the move was saved is not known', self.refused(1, 3))
        self._run_periodics()
        self.assert_is_on(0, 3)

    def test_what_has_failed_and_cannot_be_undone_is_undone_later(self):
        with mock.patch.object(self.compute.manager.driver, 'move_vcpu', side_effect=(
                exception.MigrationError(reason='no'))):
            self.assertIn('could not be undone (no)', self.refused(1, 3))
            self._run_periodics()
            self.assertEqual(['40%', '40%', '0%', '40%'], self.used_on(self.compute))
        self._run_periodics()
        self.assert_is_on(0, 1)

    def test_a_stopped_server_starts_where_it_was_moved_to(self):
        self._stop_server(self.server)
        self.move(1, 3)
        self.assertEqual({0, 3}, set(self.pcpus_of(self.server)))
        self._start_server(self.server)
        self.assert_is_on(0, 3)

    def test_a_server_that_does_something_else_stays(self):
        instance = self.instance_of(self.server)
        instance.task_state = task_states.REBOOTING
        instance.save()
        self.assertIn('no other operation under way', self.refused(1, 3))
        instance.task_state = None
        instance.save()
        self.assert_is_on(0, 1)

    def test_what_begins_between_is_not_overtaken(self):
        def save(instance, *args, **kwargs):
            if instance.task_state == vcpu_move.LOCKED:
                raise exception.UnexpectedTaskStateError(
                    instance_uuid=instance.uuid, expected={}, actual={})
            return saved(instance, *args, **kwargs)
        saved = objects.Instance.save
        with mock.patch.object(objects.Instance, 'save', save):
            self.assertIn('another operation is under way', self.refused(1, 3))
        self.assert_is_on(0, 1)

    def test_what_the_kernel_refuses_leaves_it_where_it_was(self):
        self.refuse()
        self.assertIn('stays as it was', self.refused(1, 3))
        self.accept()
        self.assert_is_on(0, 1)

    def test_while_the_database_is_away_both_are_held_and_then_it_is_undone(self):
        def save(instance, *args, **kwargs):
            if kwargs.get('expected_task_state') == [vcpu_move.LOCKED, None]:
                raise db_exc.DBConnectionError
            return saved(instance, *args, **kwargs)
        saved = objects.Instance.save
        with mock.patch.object(objects.Instance, 'save', save):
            self.assertIn('Whether the move was saved is not known', self.refused(1, 3))
            self.assertEqual(['40%', '40%', '0%', '40%'], self.used_on(self.compute))
            self._run_periodics()
            self.assertEqual(['40%', '40%', '0%', '40%'], self.used_on(self.compute))
        self._run_periodics()
        self.assert_is_on(0, 1)

    def test_a_service_that_is_killed_undoes_it_when_it_starts(self):
        for moved in (False, True):
            self.killed(moved)
            self.assertEqual(['40%', '40%', '0%', '40%'], self.used_on(self.compute))
            self.start('host1')
            self.assert_is_on(0, 1)

    def killed(self, moved):
        """Lose the service when the kernel has moved the vCPU, or not yet."""
        def die(driver, instance):
            if moved:
                driver.move_vcpu(instance, in_place.after(instance))
            raise exception.MigrationError(reason='killed')
        with mock.patch.object(vcpu_moves, 'carry_out', die):
            self.refused(1, 3)

    def test_a_server_that_is_deleted_meanwhile_leaves_nothing(self):
        def delete(driver, instance):
            self.api.delete_server(self.server['id'])
            carry_out(driver, instance)
        carry_out = vcpu_moves.carry_out
        # It depends on how far the deletion has come.
        with (mock.patch.object(vcpu_moves, 'carry_out', delete),
              contextlib.suppress(compute_call.RefusedError)):
            self.move(1, 3)
        self._wait_until_deleted(self.server)
        self.assert_ledgers([0, 0, 0, 0])
        self.assert_settled()

    def test_moves_and_claims_at_once_never_overcommit(self):
        def go_round():
            for source, target in ((1, 3), (3, 1)) * 3:
                try:
                    self.move(source, target)
                except compute_call.RefusedError as exc:
                    self.assertIn('is needed on pCPU', str(exc))
                    return
        mover = threading.Thread(target=go_round)
        mover.start()
        flavor = self.make_flavor(50, 1)
        servers = [self.boot(flavor) for _ in range(3)]
        mover.join(60)
        self.assert_settled(self.server, *servers)
        self.assert_audited()
        self.assertLessEqual(self.kernel_of(self.compute).most, cloud.CAP)


class TestContainers(_Moves, MoveTestCase):

    def refuse(self):
        self.kernel_of(self.compute).refuse_next = errno.EBUSY

    def accept(self):
        pass


@full.only
class TestMachines(_Moves, MoveTestCase):

    compute_driver = 'fake.FakeMachineDriver'

    def refuse(self):
        self.kernel_of(self.compute).admits = True

    def accept(self):
        self.kernel_of(self.compute).admits = False


class TestClaims(cloud.CloudTestCase):
    """A claim that would be refused moves others: 45% on each of four pCPUs."""

    def setUp(self):
        super().setUp()
        self.flags(defrag_on_refusal=True, group='rt')
        cloud.FakeContainerDriver.kernels['host1'] = fake_driver.WatchedKernel(
            cloud.PCPUS, multi=True)
        self.start('host1')
        half = self.make_flavor(45, 1)
        self.servers = [self.boot(half) for _ in range(4)]
        self.assert_ledgers([45, 45, 45, 45])

    def test_room_is_made_for_a_new_server(self):
        where = [self.pcpus_of(server) for server in self.servers]
        server = self.boot(self.make_flavor(60, 1))
        self.assertEqual(1, sum(
            self.pcpus_of(other) != before
            for other, before in zip(self.servers, where, strict=True)))
        self.assert_settled(server, *self.servers)
        self.assert_audited()
        self.assertLessEqual(self.kernel_of(self.computes['host1']).most, cloud.CAP)

    def test_what_no_moves_let_in_is_refused_and_nothing_is_moved(self):
        where = [self.pcpus_of(server) for server in self.servers]
        refused = self.boot(self.make_flavor(60, 3), 'ERROR')
        self.assertIn('60% is needed on each of 3 pCPU(s)', self.fault_of(refused))
        self.assertEqual(where, [self.pcpus_of(server) for server in self.servers])
        self.assert_settled(*self.servers)

    def test_a_host_with_room_comes_before_one_that_would_have_to_make_it(self):
        self.start('host2')
        server = self.boot(self.make_flavor(60, 1))
        self.assertEqual('host2', self.instance_of(server).host)
        self.assert_settled(server, *self.servers)

    def test_if_a_move_fails_the_server_goes_to_error_and_all_stay_whole(self):
        with mock.patch.object(vcpu_moves, 'carry_out', side_effect=exception.MigrationError(
                reason='no')):
            refused = self.boot(self.make_flavor(60, 1), 'ERROR')
        self.assertIn('60% is needed', self.fault_of(refused))
        self.start('host1')
        self.assert_settled(*self.servers)
        self.assert_audited()

    def test_without_the_option_nothing_is_moved(self):
        self.flags(defrag_on_refusal=False, group='rt')
        self._run_periodics()
        self.boot(self.make_flavor(60, 1), 'ERROR')
        self.assert_settled(*self.servers)
