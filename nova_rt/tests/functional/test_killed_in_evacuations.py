# SPDX-License-Identifier: Apache-2.0
"""A service that is killed between any two of its writes while a server is evacuated to it."""

import contextlib
import itertools
from unittest import mock

import fixtures
from nova import context

from nova_rt.compute import manager
from nova_rt.instance import holdings
from nova_rt.testing import full
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_evacuation


class TestKilledInAnEvacuation(killed.AtAnyWrite, test_evacuation.EvacuationTestCase):
    """The server is where it was, for whoever comes first: its host, an evacuation, a deletion.

    Killed before its claim, it cannot tell that message from one that still waits for it: the
    server stays locked until an operator resets its state, as it does without nova-rt.
    """

    def setUp(self):
        super().setUp()
        # From 2.95 on, an evacuated server stays stopped.
        self.useFixture(fixtures.MockPatchObject(self.admin_api, 'microversion', '2.94'))
        self._delete_server(self.server)
        self.flavor = self.make_flavor(50, 2)

    def come_back(self):
        """Start the server's first host, with its kernel as it was."""
        self.computes['host1'] = self.restart_compute_service(self.down)
        # Nova takes one evacuation of a server at a time for the end of all.
        self.start('host1')
        self.force_down('host1', False)

    def assert_unharmed(self, *ways, dead=lambda: None):
        """Have the destination die before each of its writes in turn.

        :param ways: how it goes on, in turn
        :param dead: what happens before the destination is started again
        """
        for number, way in zip(itertools.count(step=killed.LONG_STEP), itertools.cycle(ways)):
            self.server = self.boot_on('host1', self.flavor)
            self.down = self.take_down('host1')
            with self.killing(number, 'host2', self.manager_of('host2'),
                              'rebuild_instance', dead) as died:
                self.admin_api.post_server_action(self.server['id'], {'evacuate': {}})
            if not died:
                break
            self._run_periodics()
            self.assert_audited()
            way()
            self.assert_audited()
            self._delete_server(self.api.get_server(self.server['id']))
            self.assert_settled(self.other)
            self.assert_audited()
        self.assertGreater(number, 10)

    def unlock(self):
        super().unlock()
        self._run_periodics()
        self.assert_audited()

    def start_anew(self):
        if self.instance_of(self.server).host == 'host1':
            self.unlock()
            self._reboot_server(self.server, hard=True)
        self.assert_settled(self.server, self.other)
        # All that it asks for, not its share alone.
        (allocation,) = self._get_allocations_by_server_uuid(self.server['id']).values()
        self.assertEqual(2, allocation['resources']['VCPU'])

    def again(self):
        if self.instance_of(self.server).host == 'host1':
            self.unlock()
            self.evacuate(expected_state='ACTIVE', expected_host='host2')
        self.come_back()
        self.assert_settled(self.server, self.other)

    def back(self):
        self.come_back()
        self.start_anew()

    def deleted(self):
        self._delete_server(self.api.get_server(self.server['id']))
        self.come_back()
        # Nova does that every half an hour.
        self.manager_of('host1')._cleanup_running_deleted_instances(context.get_admin_context())
        self.assert_settled(self.other)
        self.server = self.boot_on('host1', self.flavor)

    def test_whatever_comes_first(self):
        self.assert_unharmed(self.again, self.back, self.deleted)

    @full.only
    def test_it_is_evacuated_again(self):
        self.assert_unharmed(self.again)

    @full.only
    def test_it_had_no_claim_where_it_was(self):
        take_down = self.take_down

        def without_claim(host):
            instance = self.instance_of(self.server)
            holdings.set_pcpus(instance, None)
            instance.save()
            return take_down(host)
        with mock.patch.object(self, 'take_down', without_claim):
            self.assert_unharmed(self.again)

    @full.only
    def test_its_host_comes_back(self):
        self.assert_unharmed(self.back)

    @full.only
    def test_it_is_deleted(self):
        self.assert_unharmed(self.deleted)

    def test_its_host_is_back_before_the_other(self):
        self.assert_unharmed(self.start_anew, dead=self.come_back)

    @full.only
    def test_the_other_dies_again_when_it_starts(self):
        writes = itertools.cycle(range(8))
        self.assert_unharmed(self.again, self.back, self.deleted, dead=lambda: self.die_again(
            next(writes), 'host2', 'pre_start_hook'))

    def die_again(self, number, host, method):
        """Have a host's service die when it starts; return whether it had as many writes."""
        with (self.killing(number, host, manager.RTComputeManager, method) as died,
              contextlib.suppress(killed.Killed)):
            self.start(host)
        return bool(died)

    @full.only
    def test_its_host_dies_again_when_it_comes_back(self):
        for method in ('init_host', 'pre_start_hook'):
            for number in itertools.count():
                self.server = self.boot_on('host1', self.flavor)
                self.down = self.take_down('host1')
                self.evacuate(expected_state='ACTIVE', expected_host='host2')
                self.computes['host1'] = self.down
                died = self.die_again(number, 'host1', method)
                self.force_down('host1', False)
                self.assert_settled(self.server, self.other)
                self.assert_audited()
                self._delete_server(self.server)
                if not died:
                    break
