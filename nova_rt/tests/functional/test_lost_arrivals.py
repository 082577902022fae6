# SPDX-License-Identifier: Apache-2.0
"""Servers that have left for another host, which is never asked to start them."""

from unittest import mock

from nova.compute import rpcapi
import oslo_messaging

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.testing import full
from nova_rt.tests.functional import test_moves


class TestLostArrivals(test_moves.MovesTestCase):
    """The server then counts on its destination, where it holds nothing."""

    def setUp(self):
        super().setUp()
        self.large = self.make_flavor(60, 2, memory_mb=128)
        self.server = self.boot_on('host1', self.make_flavor(50, 2))
        # On pCPUs 0 and 1, as the server on its source.
        self.other = self.boot_on('host2', self.make_flavor(90, 2))

    def fail_to_ask(self, action):
        with mock.patch.object(rpcapi.ComputeAPI, 'finish_resize',
                               side_effect=oslo_messaging.MessageDeliveryFailure):
            self.api.post_server_action(self.server['id'], action)
            self._wait_for_state_change(self.server, 'ERROR')
            self._wait_for_server_parameter(self.server, {'OS-EXT-STS:task_state': None})

    def ask_in_vain(self, action, moving):
        """Lose the message; reset the state of the server.

        :param moving: what the ledgers hold before
        """
        with mock.patch.object(rpcapi.ComputeAPI, 'finish_resize') as lost:
            self.api.post_server_action(self.server['id'], action)
            self.eventually(lost.assert_called_once)
        self.assert_ledgers(*moving)
        self.reset('error')

    def reset(self, state):
        self.admin_api.post_server_action(
            self.server['id'], {'os-resetState': {'state': state}})

    def assert_held(self, *percents):
        """Assert what ledgers, kernels and Placement have, by host and pCPU in percent."""
        # Nobody has told the destination.
        self._run_periodics()
        self.assert_ledgers(*percents)
        for (host, compute), held in zip(self.computes.items(), percents, strict=True):
            self.assertEqual([f'{percent}%' for percent in held], self.applied_on(compute))
            self.assertEqual(sum(bandwidth.to_bandwidth(percent, 100) for percent in held),
                             self.allocated_on(host))

    def assert_told(self):
        """Start the server in vain: its user is told why, and what to do."""
        self.api.post_server_action(self.server['id'], {'reboot': {'type': 'HARD'}})
        self.eventually(lambda: self.assertIn(
            'The server has a reservation but no claim on pCPUs of host2: resize or migrate it',
            self.fault_of(self.server)))

    def assert_claim_missing(self):
        """Nothing else differs."""
        self.assertEqual([('claim-missing', self.server['id'])], [
            (drift.kind, drift.subject)
            for host in self.computes for drift in self.auditor_of(host).look()])

    def assert_nobody_harmed(self):
        held = [0] * 4, [90, 90, 0, 0]
        self.assertEqual('host2', self.instance_of(self.server).host)
        self.assert_held(*held)
        self.assert_claim_missing()
        # Nobody else's room is taken while it is free in the kernel.
        self._stop_server(self.other)
        self.assert_told()
        self.api.post_server_action(self.other['id'], {'os-start': None})
        self._wait_for_state_change(self.other, 'ACTIVE')
        self.assert_held(*held)
        self.assert_claim_missing()
        self.assert_can_be_migrated()

    def assert_can_be_migrated(self):
        """What the sentence advises, works."""
        self.reset('active')
        self._migrate_server(self.server)
        self._confirm_resize(self.server)
        self.assert_settled(self.server, self.other)
        self.assert_audited()

    def test_a_resize_that_the_destination_cannot_be_told_of(self):
        self.fail_to_ask({'resize': {'flavorRef': self.large}})
        self.assert_nobody_harmed()

    def test_a_resize_that_the_destination_never_hears_of(self):
        self.ask_in_vain({'resize': {'flavorRef': self.large}},
                         ([50, 50, 0, 0], [90, 90, 60, 60]))
        self.assert_nobody_harmed()

    @full.only
    def test_a_migration_that_the_destination_cannot_be_told_of(self):
        self.fail_to_ask({'migrate': None})
        self.assert_nobody_harmed()

    @full.only
    def test_a_migration_that_the_destination_never_hears_of(self):
        self.ask_in_vain({'migrate': None}, ([50, 50, 0, 0], [90, 90, 50, 50]))
        self.assert_nobody_harmed()

    def test_its_other_resources_stay_allocated_where_it_is(self):
        self.fail_to_ask({'resize': {'flavorRef': self.large}})
        self._run_periodics()
        (provider, allocation), = self._get_allocations_by_server_uuid(
            self.server['id']).items()
        self.assertEqual(self._get_provider_uuid_by_host('host2'), provider)
        resources = allocation['resources']
        self.assertEqual((2, 128), (resources['VCPU'], resources['MEMORY_MB']))
        self.assertNotIn(shares.RESOURCE_CLASS, resources)
