# SPDX-License-Identifier: Apache-2.0
"""Hints of servers."""

from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions

from nova_rt_tempest_plugin.tests import base

CONF = config.CONF


class HintsTest(base.ReservationTest):
    """What an ordinary user may ask for beside the flavor."""

    def _refused(self, flavor, **hints):
        refusal = self.assertRaises(
            exceptions.BadRequest, self.create, flavor, hints={
                f'cpu.{name}': value for name, value in hints.items()})
        return str(refusal)

    @decorators.idempotent_id('b1e5fbd0-6d35-4c52-9f7e-2c9a2c4e1b11')
    @decorators.attr(type='smoke')
    def test_a_hint_wins_over_the_flavor(self):
        server = self.boot(
            self.flavor(40_000), hints={'cpu.rt_runtime_us': '60000'})
        self.assertEqual((60_000, 200_000), self.reserved(server))

    @decorators.idempotent_id('2f6b3c6a-9a0d-4b6e-8d4a-1e7c5d9f0c12')
    def test_a_server_may_be_reserved_for_by_hints_alone(self):
        server = self.boot(self.flavor(), hints={
            'cpu.rt_runtime_us': '20000', 'cpu.rt_period_us': '100000'})
        self.assertEqual((20_000, 100_000), self.reserved(server))

    @decorators.idempotent_id('a4d9b8f7-1c5e-4d3a-b6c8-9e0f2a1b3d13')
    def test_a_hint_that_is_no_number_is_refused(self):
        self.assertIn('cpu.rt_runtime_us', self._refused(
            self.flavor(40_000), rt_runtime_us='1e5'))

    @decorators.idempotent_id('f0c2e4a6-8b1d-4f3e-9a7c-5d6b8e0f1a14')
    def test_a_hint_whose_name_was_mistyped_is_refused(self):
        self.assertIn('cpu.rt_runtime_us', self._refused(
            self.flavor(40_000), rt_runtim_us='60000'))

    @decorators.idempotent_id('6d8e0f2a-4c5b-4e7d-8a9b-1c3d5f7e9b15')
    def test_a_runtime_without_any_period_is_refused(self):
        self.assertIn('cpu.rt_period_us', self._refused(
            self.flavor(), rt_runtime_us='60000'))

    @decorators.idempotent_id('9b7c5d3e-1f0a-4b2c-8d4e-6f8a0b1c2d16')
    def test_a_bandwidth_over_the_cap_is_refused(self):
        if CONF.nova_rt.cap > 0.99:
            raise self.skipException('[nova_rt] cap leaves nothing over it.')
        over = round((CONF.nova_rt.cap + 0.01) * base.PERIOD_US)
        self._refused(self.flavor(40_000), rt_runtime_us=str(over))
