# SPDX-License-Identifier: Apache-2.0
"""Servers that are resized or moved."""

from tempest import config
from tempest.lib import decorators

from nova_rt_tempest_plugin.tests import base

CONF = config.CONF


class MovesTest(base.ReservationTest):
    """A server has the reservation of its current flavor."""

    @classmethod
    def skip_checks(cls):
        """Skip if servers cannot be resized."""
        super().skip_checks()
        if not CONF.compute_feature_enabled.resize:
            raise cls.skipException('[compute-feature-enabled] resize is off.')

    def _resize(self):
        server = self.boot(self.flavor(20_000))
        self.servers.resize_server(server, self.flavor(60_000))
        self.wait_for(server, 'VERIFY_RESIZE')
        return server

    @decorators.idempotent_id('3e1c9a7f-5d4b-4e2c-8b0a-6f8d7c5e4a41')
    def test_a_resized_server_has_the_new_reservation(self):
        server = self._resize()
        self.servers.confirm_resize_server(server)
        self.wait_for(server, 'ACTIVE')
        self.assertEqual((60_000, 200_000), self.reserved(server))

    @decorators.idempotent_id('c6b4a2e0-f8d7-4c5b-9a3e-1d0f2e4c6b42')
    def test_a_resize_that_is_reverted_gives_the_old_reservation_back(self):
        server = self._resize()
        self.servers.revert_resize_server(server)
        self.wait_for(server, 'ACTIVE')
        self.assertEqual((20_000, 200_000), self.reserved(server))

    @decorators.idempotent_id('8f7e6d5c-4b3a-4f2e-9d1c-0b9a8f7e6d43')
    def test_a_migrated_server_keeps_its_reservation(self):
        if not CONF.compute_feature_enabled.cold_migration:
            raise self.skipException(
                '[compute-feature-enabled] cold_migration is off.')
        if len(self.hosts()) < 2:
            raise self.skipException(
                'Only one host offers reservations: there is no second one.')
        server = self.boot(self.flavor(20_000))
        before = self.host_of(server)
        self.os_admin.servers_client.migrate_server(server)
        self.wait_for(server, 'VERIFY_RESIZE')
        self.servers.confirm_resize_server(server)
        self.wait_for(server, 'ACTIVE')
        self.assertNotEqual(before, self.host_of(server))
        self.assertEqual((20_000, 200_000), self.reserved(server))
