# SPDX-License-Identifier: Apache-2.0
import errno

from nova_rt import bandwidth
from nova_rt.testing import cases
from nova_rt.testing import cloud


class TestOneHost(cloud.CloudTestCase):
    """Figure 5 of the OpenStack paper, on a host with four pCPUs."""

    def setUp(self):
        super().setUp()
        self.compute = self._start_compute('host1')

    def figure_5(self):
        return [self.boot(self.make_flavor(percent, vcpus))
                for percent, vcpus in ((50, 2), (30, 1), (40, 3))]

    def test_figure_5_of_the_paper_comes_out(self):
        servers = self.figure_5()
        self.assertEqual([(0, 1), (2,), (0, 2, 3)],
                         [self.pcpus_of(server) for server in servers])
        self.assertEqual(['90%', '50%', '70%', '40%'],
                         self.used_on(self.compute))

    def test_the_kernel_holds_what_the_ledger_holds(self):
        self.figure_5()
        kernel = self.kernel_of(self.compute)
        total = [0] * cloud.PCPUS
        for group in kernel.children('machine'):
            total = [t + b for t, b in zip(
                total, kernel.bandwidths(group), strict=True)]
        self.assertEqual(list(self.compute.manager.rt.shares.used), total)

    def test_75_percent_is_refused_with_pcpu_and_shortage(self):
        self.figure_5()
        server = self.boot(self.make_flavor(75, 1), state='ERROR')
        self.assertIn('pCPU 3 has 55% left and lacks 20%',
                      server['fault']['message'])

    def test_deleting_a_server_makes_room(self):
        servers = self.figure_5()
        self._delete_server(servers[2])
        self.boot(self.make_flavor(75, 1))
        self._delete_server(servers[0])
        self._delete_server(servers[1])
        self.assertEqual(['0%', '0%', '0%', '75%'],
                         self.used_on(self.compute))

    def test_a_hint_overrides_the_flavor_and_server_show_tells_it(self):
        server = self.boot(self.make_flavor(50, 1),
                           hints={'cpu.rt_runtime_us': 70_000})
        shown = self.api.get_server(server['id'])['flavor']['extra_specs']
        self.assertEqual('70000', shown[cases.RUNTIME])
        self.assertEqual('100000', shown[cases.PERIOD])
        self.assertEqual(['70%', '0%', '0%', '0%'],
                         self.used_on(self.compute))

    def test_a_server_without_a_reservation_holds_nothing(self):
        self.boot(self._create_flavor(vcpu=1, memory_mb=64, disk=1))
        self.assertEqual(['0%'] * 4, self.used_on(self.compute))

    def test_a_stopped_server_keeps_its_claim_and_starts_with_its_budget(self):
        server = self.boot(self.make_flavor(60, 1))
        self._stop_server(server)
        kernel = self.kernel_of(self.compute)
        self.assertEqual([0] * 4, kernel.bandwidths('machine'))
        self.assertEqual('60%', self.used_on(self.compute)[0])
        self._start_server(server)
        self.assertEqual(bandwidth.to_bandwidth(60_000, 100_000),
                         kernel.bandwidths(f'machine/{server["id"]}')[0])

    def test_restarted_nova_rt_compute_derives_the_same_ledger(self):
        self.figure_5()
        before = self.compute.manager.rt.shares
        self.compute = self.restart_compute_service(self.compute)
        self.assertEqual(before, self.compute.manager.rt.shares)

    def test_the_scheduler_sees_the_vector_in_the_stats(self):
        self.boot(self.make_flavor(50, 1))
        (hypervisor,) = self.compute.manager.rt.compute_nodes.values()
        self.assertEqual('524288,0,0,0', hypervisor.stats['rt_used'])
        self.assertEqual('996147*4', hypervisor.stats['rt_capacity'])
        self.assertEqual('hcbs-multi', hypervisor.stats['rt_dialect'])

    def test_a_kernel_that_refuses_leaves_no_server_claim_or_budget(self):
        self.kernel_of(self.compute).refuse_containers = errno.EINVAL
        server = self.boot(self.make_flavor(50, 1), state='ERROR')
        self.assertIn('The kernel refused', server['fault']['message'])
        self.assertEqual(['0%'] * 4, self.used_on(self.compute))
        self.assertEqual([0] * 4,
                         self.kernel_of(self.compute).bandwidths('machine'))



class TestThreeHosts(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.computes = [self._start_compute(f'host{i}') for i in (1, 2, 3)]

    def test_a_server_too_large_for_one_host_lands_on_another(self):
        flavor = self.make_flavor(60, 4)
        hosts = {self.boot(flavor)['OS-EXT-SRV-ATTR:host']
                 for _ in self.computes}
        self.assertEqual({'host1', 'host2', 'host3'}, hosts)
        refused = self.boot(flavor, state='ERROR')
        self.assertIn('lacks 25%', refused['fault']['message'])

    def test_packing_fills_a_host_before_the_next(self):
        self.flags(host_preference='pack', group='rt')
        flavor = self.make_flavor(40, 4)
        hosts = [self.boot(flavor)['OS-EXT-SRV-ATTR:host']
                 for _ in range(4)]
        self.assertEqual(2, len(set(hosts)))

    def test_the_next_host_is_tried_when_a_kernel_refuses(self):
        for compute in self.computes[:2]:
            self.kernel_of(compute).refuse_containers = errno.EINVAL
        self.flags(max_attempts=3, group='scheduler')
        server = self.boot(self.make_flavor(50, 1))
        self.assertEqual('host3', server['OS-EXT-SRV-ATTR:host'])
        self.assertEqual([['0%'] * 4] * 2,
                         [self.used_on(compute) for compute in self.computes[:2]])

    def test_the_last_host_that_was_tried_tells_why_it_failed(self):
        for compute in self.computes:
            self.kernel_of(compute).refuse_containers = errno.EINVAL
        server = self.boot(self.make_flavor(50, 1), state='ERROR')
        self.assertIn('The kernel refused', server['fault']['message'])
        self.assertIn('global limit', server['fault']['message'])

    def test_servers_of_one_request_are_spread_and_none_overcommits(self):
        flavor = self.make_flavor(60, 4)
        first = self.api.post_server({'server': dict(
            self._build_server(flavor_id=flavor, networks='none'),
            min_count=3, max_count=3)})
        self._wait_for_state_change(first, 'ACTIVE')
        hosts = [server['OS-EXT-SRV-ATTR:host'] for server in
                 self.api.get_servers(detail=True)]
        self.assertEqual(['host1', 'host2', 'host3'], sorted(hosts))
