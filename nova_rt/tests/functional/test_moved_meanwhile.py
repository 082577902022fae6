# SPDX-License-Identifier: Apache-2.0
"""A vCPU that is moved while something else is decided for its server stays where it was moved.

A move leaves the task state as it was, so that does not tell who saves what was read before.
"""

import contextlib
import threading
from unittest import mock

from nova import context
from nova import objects
from nova.compute import task_states

from nova_rt import reservation
from nova_rt.compute import evictions
from nova_rt.compute import reservation_change
from nova_rt.instance import compute_call
from nova_rt.instance import eviction
from nova_rt.instance import hint_update
from nova_rt.instance import holdings
from nova_rt.instance import preempted
from nova_rt.limits import under_way
from nova_rt.testing import cloud
from nova_rt.tests.functional import test_vcpu_moves

# A move that nothing holds up takes less.
_A_WHILE_S = 3.0


class MovedMeanwhileTestCase(test_vcpu_moves.MoveTestCase):

    def setUp(self):
        super().setUp()
        self.manager = self.compute.manager
        self.moved = False

    def moved_in(self, target, name):
        """Have somebody move a vCPU from pCPU 1 to 3 where a function is called first."""
        real, mover = getattr(target, name), threading.Thread(target=self._try_to_move)

        def meanwhile(*args, **kwargs):
            if mover.ident is None:
                mover.start()
                # It has to wait where the other has the lock.
                mover.join(_A_WHILE_S)
            return real(*args, **kwargs)
        self.mover = mover
        return mock.patch.object(target, name, meanwhile)

    def _try_to_move(self):
        # One that waited may find that another operation is under way.
        with contextlib.suppress(compute_call.RefusedError):
            self.move(1, 3)
            self.moved = True

    def assert_is_where_it_was_moved(self):
        if self.mover.ident is not None:
            self.mover.join()
        self.eventually(lambda: self.assertIsNone(self.instance_of(self.server).task_state))
        self.assertEqual({0, 3 if self.moved else 1}, set(self.pcpus_of(self.server)))
        self._run_periodics()
        self.assert_audited()

    def mark(self):
        instance = self.instance_of(self.server)
        eviction.put(instance, eviction.Mark(
            eviction.digest('misser'), 0, eviction.digest(self.manager.rt.node_of(instance)),
            'req-stop', eviction.last_action(self.cell_context(), instance.uuid)))
        instance.save()
        self._run_periodics()
        self.assertIn(instance.uuid, self.manager.rt.evicted)

    def marks(self):
        return eviction.MARK in self.instance_of(self.server).system_metadata

    def look(self):
        self.manager._look_after_evicted(self.cell_context())


class TestMovedMeanwhile(MovedMeanwhileTestCase):

    def test_it_is_started_again_where_it_was_moved(self):
        self._stop_server(self.server)
        self.mark()
        with self.moved_in(evictions.Evictions, '_has_loan'):
            self.look()
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.assertTrue(self.moved)
        self.assert_is_where_it_was_moved()

    def test_nothing_is_moved_while_its_start_is_saved(self):
        self._stop_server(self.server)
        self.mark()
        with self.moved_in(objects.Instance, 'save'):
            self.look()
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.assert_is_where_it_was_moved()

    def test_nothing_is_moved_while_its_stop_is_saved(self):
        with self.moved_in(objects.Instance, 'save'):
            self.manager.evictions._stop(
                context.get_admin_context(), self.server['id'], 'misser')
        self._wait_for_state_change(self.server, 'SHUTOFF')
        self.assertTrue(self.marks())
        self.assert_is_where_it_was_moved()

    def test_its_stop_is_forgotten_and_not_where_it_was_moved(self):
        self.mark()
        with self.moved_in(eviction, 'due'):
            self.look()
        self.assertFalse(self.marks())
        self.assertTrue(self.moved)
        self.assert_is_where_it_was_moved()

    def test_nothing_is_moved_while_that_is_forgotten(self):
        self.mark()
        with self.moved_in(objects.Instance, 'save'):
            self.look()
        self.assertFalse(self.marks())
        self.assert_is_where_it_was_moved()

    def test_nothing_is_moved_while_a_change_by_hint_begins(self):
        with self.moved_in(reservation_change, '_check_note'):
            hint_update.change(context.get_admin_context(), self.server['id'],
                               reservation.Times(30_000), cloud.CAP)
        self.assert_is_where_it_was_moved()

    def test_nothing_is_moved_while_it_is_to_keep_what_it_was_shrunk_to(self):
        instance = self.instance_of(self.server)
        instance.system_metadata[preempted.MARK] = preempted.Mark(
            50_000, 100_000, 50_000, instance.instance_type_id).to_text()
        instance.save()
        with self.moved_in(objects.Instance, 'save'):
            hint_update.change(context.get_admin_context(), self.server['id'],
                               reservation.Times(40_000), cloud.CAP)
        self.assertNotIn(preempted.MARK, self.instance_of(self.server).system_metadata)
        self.assert_is_where_it_was_moved()

    def test_by_how_much_it_grows_is_noted_and_nothing_else(self):
        with self.moved_in(objects.Instance, 'save'):
            under_way.note_growth(context.get_admin_context(), self.server['id'], 5)
        self.assertEqual('5', self.instance_of(self.server).system_metadata[holdings.GROWTH])
        self.assert_is_where_it_was_moved()

    def test_by_how_much_it_grows_is_not_noted_while_something_else_is_done(self):
        under_way.note_growth(context.get_admin_context(), self.server['id'], 5)
        instance = self.instance_of(self.server)
        instance.task_state = task_states.RESIZE_PREP
        instance.save()
        under_way.note_growth(context.get_admin_context(), self.server['id'], 7)
        self.assertEqual('5', self.instance_of(self.server).system_metadata[holdings.GROWTH])
