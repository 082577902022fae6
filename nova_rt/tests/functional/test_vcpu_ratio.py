# SPDX-License-Identifier: Apache-2.0
"""The check of cpu_allocation_ratio, on Nova's fixtures."""

from unittest import mock

from nova import context
from oslo_upgradecheck import upgradecheck

from nova_rt.cmd import manage_base
from nova_rt.cmd import status
from nova_rt.explain import vcpu_ratio
from nova_rt.testing import cloud


class TestVCPURatio(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        # Nova's fake host has 1000 CPUs, and ours 4 that can be reserved.
        self.flags(cpu_allocation_ratio=0.01)

    def lowest(self):
        # Nova reports a ratio from its second look at a host on.
        self._run_periodics()
        return vcpu_ratio.lowest(context.get_admin_context())

    def checked(self):
        """Return the result of the upgrade check, on the fixtures' databases."""
        with mock.patch.object(manage_base, 'use_databases'):
            return status.Checks().vcpus()

    def test_small_reservations_need_a_higher_ratio_than_large_ones(self):
        self.start('host1')
        self.make_flavor(60, 2)
        self.assertIsNone(self.lowest())
        self.make_flavor(5, 1)
        low = self.lowest()
        # 19 times 5% on each.
        self.assertEqual(('host1', 0.01, 10, 4 * 19, 1), (
            low.host, low.ratio, low.most, low.fitting, low.least))
        self.assertIn(low.flavor, {flavor['name'] for flavor in self.api.get_flavors()})
        self.assertIn('set [DEFAULT] cpu_allocation_ratio to 1 in its nova.conf', str(low))
        result = self.checked()
        self.assertEqual((upgradecheck.Code.WARNING, str(low)),
                         (result.code, result.details))

    def test_with_the_ratio_that_it_names_all_of_them_run(self):
        self.start('host1')
        self.make_flavor(5, 1)
        low = self.lowest()
        self.flags(cpu_allocation_ratio=float(low.least))
        self.start('host1')
        self.assertIsNone(self.lowest())
        self.assertEqual(upgradecheck.Code.SUCCESS, self.checked().code)

    def test_a_host_without_reservations_may_have_any_ratio(self):
        self.start('host1', capacity=(0, 0, 0, 0))
        self.make_flavor(5, 1)
        self.assertIsNone(self.lowest())
