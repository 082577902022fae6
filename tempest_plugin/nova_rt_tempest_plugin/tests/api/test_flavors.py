# SPDX-License-Identifier: Apache-2.0
"""Extra specs of flavors."""

from tempest.lib import decorators
from tempest.lib import exceptions

from nova_rt_tempest_plugin.tests import base


class FlavorsTest(base.ReservationTest):
    """What a flavor may ask for."""

    @decorators.idempotent_id('5b6a7a5c-0c1e-4a58-8d7b-7e0f6f3ce1a1')
    @decorators.attr(type='smoke')
    def test_a_flavor_shows_the_reservation_that_it_was_given(self):
        flavor = self.flavor(60_000, rt_policy='fifo', rt_priority=7)
        specs = self.flavors.list_flavor_extra_specs(flavor)['extra_specs']
        self.assertEqual({
            'hw:cpu.rt_runtime_us': '60000', 'hw:cpu.rt_period_us': '200000',
            'hw:cpu.rt_policy': 'fifo', 'hw:cpu.rt_priority': '7'}, specs)

    def _refused(self, **specs):
        flavor = self.flavor()
        refusal = self.assertRaises(
            exceptions.BadRequest, self.flavors.set_flavor_extra_spec, flavor,
            **{f'hw:cpu.{name}': value for name, value in specs.items()})
        self.assertEqual(
            {}, self.flavors.list_flavor_extra_specs(flavor)['extra_specs'])
        return str(refusal)

    @decorators.idempotent_id('0f4f8c4e-4d5e-4a6c-9b0c-0d6a2f7a5c02')
    def test_a_runtime_that_is_no_number_is_refused(self):
        self.assertIn('rt_runtime_us', self._refused(rt_runtime_us='abc'))

    @decorators.idempotent_id('c7a0f0b1-3a5e-4a0e-a5b5-7c2f8e4f6d03')
    def test_a_runtime_that_is_longer_than_its_period_is_refused(self):
        self._refused(rt_runtime_us='200001', rt_period_us='200000')

    @decorators.idempotent_id('d3b8e8a2-7f5c-4b1d-8f47-52f4a3be9e04')
    def test_a_period_that_the_kernel_cannot_keep_is_refused(self):
        self._refused(rt_runtime_us='10', rt_period_us='99')

    @decorators.idempotent_id('3c1d24b0-2f8f-4d86-bd0e-1f2d8f0f7a05')
    def test_a_name_that_was_mistyped_is_refused_with_the_one_meant(self):
        self.assertIn('cpu.rt_runtime_us', self._refused(rt_runtim_us='1000'))

    @decorators.idempotent_id('8e7d95a6-5a4c-4f2a-9c0b-6d1a7e5b3c06')
    def test_a_share_in_placements_units_cannot_be_given_by_hand(self):
        flavor = self.flavor(60_000)
        self.assertRaises(
            exceptions.BadRequest, self.flavors.set_flavor_extra_spec, flavor,
            **{'resources:CUSTOM_RT_SHARE': '1'})
