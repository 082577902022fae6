# SPDX-License-Identifier: Apache-2.0
"""Changes of containers that cannot be undone at once, and are undone every minute."""

import contextlib
import dataclasses
from unittest import mock

from nova import exception
from nova import objects

from nova_rt import allocations
from nova_rt.compute import due_shares
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.testing import fake_driver
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_hint_changes
from nova_rt.tests.functional import test_in_place


class TestHints(test_hint_changes.HintTestCase):

    def undo_left(self):
        """Do what the service does every minute."""
        self.computes['host1'].manager._undo_changes(self.cell_context())

    def test_one_that_may_have_begun_is_undone(self):
        save = objects.Instance.save

        def lose(instance, *args, **kwargs):
            save(instance, *args, **kwargs)
            raise exception.DBNotAllowed(binary='x')
        with mock.patch.object(objects.Instance, 'save', lose):
            self.assertIn('has begun it undoes within a minute', self.refused(60_000))
        self.assertEqual(in_place.CHANGING, self.instance_of(self.server).task_state)
        self.undo_left()
        self.assert_has(30, rt_runtime_us=30_000)

    def test_what_cannot_be_undone_at_start_is_undone_when_nothing_else_is_under_way(self):
        with killed.in_change(self.computes['host1'], None, test_hint_changes._Killed):
            self.refused(60_000)
        with mock.patch.object(allocations.PlacementClient, 'set_share',
                               side_effect=exception.PlacementAPIConnectFailure):
            self.start('host1')
            self.undo_left()
        self.assert_ledgers([60, 60, 0, 0])
        self.lock('rebooting')
        self.undo_left()
        self.assert_ledgers([60, 60, 0, 0])
        self.lock(None)
        self.undo_left()
        self.assert_has(30, rt_runtime_us=30_000)

    def test_what_a_failed_evacuation_left_in_doubt_is_put_right_if_not_at_start(self):
        instance = self.instance_of(self.server)
        holding = holdings.holding_of(instance)
        self.computes['host1'].manager.driver.change_reservation(
            instance, dataclasses.replace(holding, reservation=dataclasses.replace(
                holding.reservation, runtime_us=60_000)))
        due_shares.mark(instance)
        instance.save()
        with mock.patch.object(fake_driver.FakeContainerDriver, 'change_reservation',
                               side_effect=exception.ResizeError(reason='libvirt is away')):
            self.start('host1')
            self.undo_left()
        self._run_periodics()
        self.assert_applied(60, 60, 0, 0)
        self.undo_left()
        self.assert_has(30, rt_runtime_us=30_000)

    def lock(self, task_state):
        instance = self.instance_of(self.server)
        instance.task_state = task_state
        instance.save()


class TestResizes(killed.AtAnyWrite, test_in_place.InPlaceTestCase):

    HOSTS = 1

    def undone_later(self, number, method, **action):
        """Lose the service in a resize or revert, and start it while Placement is away."""
        manager = self.computes['host1'].manager
        with contextlib.ExitStack() as away:
            with self.killing(number, 'host1', manager.in_place_resize, method,
                              lambda: away.enter_context(mock.patch.object(
                                  allocations.PlacementClient, 'share_out',
                                  side_effect=exception.PlacementAPIConnectFailure))):
                self.api.post_server_action(self.server['id'], action)
            manager = self.computes['host1'].manager
            manager._undo_changes(self.cell_context())
            self.assertTrue(in_place.begun(self.instance_of(self.server)))
        manager._undo_changes(self.cell_context())
        self.assertIsNone(self.instance_of(self.server).task_state)
        self.assert_as_it_was()

    def test_what_cannot_be_taken_back_at_start_is_taken_back(self):
        flavor = self.make_flavor(60, 2)
        # Before it is locked anew, and before its container is changed.
        for number in (0, 2):
            self.undone_later(number, 'resize', resize={'flavorRef': flavor})

    def test_a_revert_that_cannot_be_ended_at_start_is_ended(self):
        self._resize_server(self.server, self.make_flavor(20, 2))
        self.undone_later(0, 'revert', revertResize=None)

    def test_what_a_revert_that_failed_took_away_is_given_again_at_start(self):
        compute = self.computes['host1'].manager
        self._resize_server(self.server, self.make_flavor(60, 2))
        change, asked = compute.driver.change_reservation, []

        def once(*args):
            asked.append(args)
            if len(asked) > 1:
                raise exception.ResizeError(reason='libvirt is away')
            change(*args)
        with (mock.patch.object(compute.driver, 'change_reservation', once),
              mock.patch.object(compute.in_place_resize, '_share_out',
                                side_effect=exception.PlacementAPIConnectFailure)):
            self.api.post_server_action(self.server['id'], {'revertResize': None})
            self.eventually(lambda: self.assertEqual(2, len(asked)))
            self.eventually(lambda: self.assertIsNone(
                self.instance_of(self.server).task_state))
        self.assert_applied(50, 50, 0, 0)
        self.start('host1')
        self.assert_applied(60, 60, 0, 0)
        self._confirm_resize(self.server)
        self.assert_as_it_was(60)
