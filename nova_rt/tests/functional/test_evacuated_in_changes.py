# SPDX-License-Identifier: Apache-2.0
"""Servers that are evacuated because their host died while it changed or moved them."""

import contextlib
import itertools
from unittest import mock

import fixtures
import oslo_messaging

from nova_rt import fitting
from nova_rt import reservation
from nova_rt.compute import evacuation
from nova_rt.instance import compute_call
from nova_rt.instance import flavors
from nova_rt.instance import hint_update
from nova_rt.instance import holdings
from nova_rt.instance import preempted
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_evacuation


class Unanswered(oslo_messaging.MessagingTimeout):
    """What the caller of a service that is killed sees of it, without the wait."""


class EvacuatedTestCase(killed.AtAnyWrite, test_evacuation.EvacuationTestCase):
    """Once its host is back, all say the same of the server, wherever it is."""

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        # Another attempt would begin when all looks settled.
        self.useFixture(fixtures.MockPatchObject(evacuation, '_ATTEMPTS', 0))
        # From 2.95 on, an evacuated server stays stopped.
        self.useFixture(fixtures.MockPatchObject(self.admin_api, 'microversion', '2.94'))
        self._delete_server(self.server)
        self.flavor = self.make_flavor(50, 2)

    def assert_settled_after(self, evacuate, target, method, ask):
        """Have the server's host die in a method, before each of its writes in turn.

        :param evacuate: what happens before it is back
        :param ask: asks for what calls the method
        """
        def dead():
            down = self.take_down('host1')
            evacuate()
            self.computes['host1'] = down
        for number in itertools.count(step=killed.LONG_STEP):
            self.server = self.boot_on('host1', self.flavor)
            with self.killing(number, 'host1', target(), method, dead) as died:
                ask()
            if not died:
                break
            self.force_down('host1', False)
            self.confirm()
            # Placement is told within a minute.
            self._run_periodics()
            self.assert_settled(self.server, self.other)
            self.assert_audited()
            self.assert_kept()
            self._delete_server(self.api.get_server(self.server['id']))
        self.assertGreater(number, 3)

    def assert_kept(self):
        """What else must hold of the server afterwards."""

    def assert_settled_after_change(self, evacuate, ask):
        """The same as assert_settled_after(), for changes without a resize."""
        self.assert_settled_after(
            evacuate, lambda: self.manager_of('host1').reservation_change, 'change', ask)

    def confirm(self):
        if self.api.get_server(self.server['id'])['status'] == 'VERIFY_RESIZE':
            self.api.post_server_action(self.server['id'], {'confirmResize': None})
            self._wait_for_state_change(self.server, 'ACTIVE')

    def leave(self):
        self.evacuate(expected_state='ACTIVE', expected_host='host2')

    def find_no_room(self):
        with (mock.patch('nova_rt.filters.rt_share_filter.RTShareFilter'
                         '.filter_all', lambda _, hosts, spec: list(hosts)),
              mock.patch.object(fitting, 'place', side_effect=fitting.NoRoomError(
                  1, lambda: 'it lacks 1%'))):
            self.evacuate(expected_state='ACTIVE', expected_host='host1',
                          expected_migration_status='failed')

    def be_refused(self):
        kernel = self.kernel_of(self.computes['host2'])
        kernel.refuse_containers = 22
        try:
            self.evacuate(expected_state='ERROR', expected_host='host1',
                          expected_migration_status='failed')
        finally:
            kernel.refuse_containers = None
        self.admin_api.post_server_action(
            self.server['id'], {'os-resetState': {'state': 'active'}})


class TestHintChanges(EvacuatedTestCase):

    DEATH = Unanswered

    def assert_unharmed(self, evacuate, percent):
        self.assert_settled_after_change(evacuate, lambda: self.change(percent))

    def change(self, percent):
        with contextlib.suppress(compute_call.RefusedError):
            hint_update.change(self.cell_context(), self.server['id'],
                               reservation.Times(percent * 1000), cloud.CAP)

    def test_evacuated(self):
        self.assert_unharmed(self.leave, 20)

    @full.only
    def test_evacuated_while_it_grows(self):
        self.assert_unharmed(self.leave, 60)

    def test_without_room_elsewhere(self):
        self.assert_unharmed(self.find_no_room, 60)

    @full.only
    def test_without_room_elsewhere_while_it_shrinks(self):
        self.assert_unharmed(self.find_no_room, 20)

    def test_refused_elsewhere(self):
        self.assert_unharmed(self.be_refused, 60)

    @full.only
    def test_refused_elsewhere_while_it_shrinks(self):
        self.assert_unharmed(self.be_refused, 20)


class TestShrinks(EvacuatedTestCase):

    DEATH = Unanswered

    def shrink(self):
        with contextlib.suppress(compute_call.RefusedError):
            hint_update.shrink(self.cell_context(), self.server['id'], 20_000)

    def assert_kept(self):
        """Whether or not it was shrunk in the end, it has all of it once there is room."""
        hint_update.give_back(self.cell_context(), self.server['id'], lambda *_: True)
        self.assert_settled(self.server, self.other)
        instance = self.instance_of(self.server)
        self.assertEqual(50_000, flavors.reservation_of(instance.flavor).runtime_us)
        self.assertFalse({preempted.MARK, preempted.NEXT, holdings.HINT_DUE}
                         & set(instance.system_metadata))

    def test_evacuated(self):
        self.assert_settled_after_change(self.leave, self.shrink)

    @full.only
    def test_without_room_elsewhere(self):
        self.assert_settled_after_change(self.find_no_room, self.shrink)

    @full.only
    def test_refused_elsewhere(self):
        self.assert_settled_after_change(self.be_refused, self.shrink)


class TestMoves(EvacuatedTestCase):

    def resize(self):
        self.api.post_server_action(self.server['id'], {
            'resize': {'flavorRef': self.make_flavor(60, 2)}})

    def assert_unharmed_in_place(self, evacuate):
        self.flags(allow_resize_to_same_host=True)
        self.assert_settled_after(
            evacuate, lambda: self.manager_of('host1').in_place_resize, 'resize', self.resize)

    def test_evacuated_while_it_was_resized_in_place(self):
        self.assert_unharmed_in_place(self.leave)

    @full.only
    def test_evacuated_while_it_left(self):
        self.assert_settled_after(self.leave, lambda: self.manager_of('host1'),
                                  'resize_instance', self.resize)

    @full.only
    def test_refused_elsewhere_while_it_was_resized_in_place(self):
        self.assert_unharmed_in_place(self.be_refused)

    @full.only
    def test_without_room_elsewhere_while_it_was_resized_in_place(self):
        self.assert_unharmed_in_place(self.find_no_room)
