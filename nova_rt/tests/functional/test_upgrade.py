# SPDX-License-Identifier: Apache-2.0
"""What an earlier nova-rt has stored is read as if this one had."""

from nova import objects

from nova_rt import shares
from nova_rt.testing import cloud

# What the first nova-rt-compute did not report.
LATER_STATS = ('rt_sizes', 'rt_in_place', 'rt_dialect', 'rt_placement_policy')


class TestEarlierNovaRT(cloud.CloudTestCase):
    """A host with one server; both as the first nova-rt would have left them."""

    def setUp(self):
        super().setUp()
        self.start('host1')
        self.flavor = self.make_flavor(50, 2)
        self.server = self.boot(self.flavor)
        self.pcpus = self.pcpus_of(self.server)
        instance = self.instance_of(self.server)
        flavor = instance.flavor.obj_clone()
        flavor.extra_specs = {name: value for name, value in flavor.extra_specs.items()
                              if name != shares.EXTRA_SPEC}
        instance.flavor = flavor
        instance.save()
        self.computes['host1'].stop()
        (node,) = objects.ComputeNodeList.get_all(self.cell_context())
        node.stats = {name: value for name, value in node.stats.items()
                      if name not in LATER_STATS}
        node.save()

    def test_a_server_without_its_share_in_the_flavor_keeps_what_it_holds(self):
        self.start('host1')
        compute = self.computes['host1']
        self.assertEqual(self.pcpus, self.pcpus_of(self.server))
        self.assertEqual(['50%', '50%', '0%', '0%'], self.used_on(compute))
        self.assertEqual(['50%', '50%', '0%', '0%'], self.applied_on(compute))
        self._reboot_server(self.server, hard=True)
        self.assertEqual(['50%', '50%', '0%', '0%'], self.applied_on(compute))

    def test_a_host_that_reports_less_is_chosen_until_it_reports_more(self):
        self.start('host1')
        self.boot(self.flavor)
        self.assert_ledgers((50, 50, 50, 50))
