# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import random
import time

from nova_rt import bandwidth
from nova_rt.testing import cloud
from nova_rt.testing import fake_driver
from nova_rt.testing import full

# Bandwidth in percent and vCPUs, mixed so that the hosts fill unevenly.
MIX = ((50, 2), (30, 1), (40, 3), (75, 1), (10, 4), (20, 2))
SERVERS = 200 if full.WANTED else 40
CLIENTS = 16


class TestConcurrency(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=4, group='scheduler')
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.computes = [self._start_compute(f'host{i}') for i in range(4)]
        for compute in self.computes:
            self.watch(compute)

    def watch(self, compute):
        driver = compute.manager.driver
        driver.kernels[compute.host].__class__ = fake_driver.WatchedKernel
        driver.kernels[compute.host].most = 0

    def test_concurrent_creates_never_exceed_the_cap_and_say_why(self):
        flavors = [self.make_flavor(percent, vcpus)
                   for percent, vcpus in MIX]
        wanted = [flavors[i % len(flavors)] for i in range(SERVERS)]
        random.Random(7).shuffle(wanted)
        requests = [{'server': self._build_server(
            flavor_id=flavor, networks='none')} for flavor in wanted]
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(self.api.post_server, requests))
        ended = self.wait_until_all_ended()
        active = [server for server in ended if server['status'] == 'ACTIVE']
        failed = [server for server in ended if server['status'] == 'ERROR']
        self.assertEqual(SERVERS, len(active) + len(failed))
        self.assertNotEqual([], active)
        self.assert_never_over_the_cap()
        # The last two are what Nova says if Placement had allocated meanwhile
        # what the scheduler, or a host that was tried next, had left.
        for server in failed:
            self.assertRegex(server['fault']['message'],
                             r'lacks \d|distinct pCPUs|allocated to servers|'
                             'not enough hosts available|Exhausted all hosts')

    def wait_until_all_ended(self):
        # One is asked for, and seldom: a list of all costs more than builds.
        building = {'status': 'BUILD', 'limit': 1}
        for _ in range(400):
            if not self.api.get_servers(detail=False, search_opts=building):
                return self.eventually(self.servers_with_faults)
            time.sleep(3)
        self.fail('servers are still being built')

    def servers_with_faults(self):
        # Nova writes the fault after the state.
        servers = self.api.get_servers()
        self.assertEqual([], [
            server['id'] for server in servers
            if server['status'] == 'ERROR' and 'fault' not in server])
        return servers

    def assert_never_over_the_cap(self):
        cap = bandwidth.fraction_to_bandwidth(0.95)
        for compute in self.computes:
            kernel = self.kernel_of(compute)
            held = compute.manager.rt.shares
            self.assertLessEqual(kernel.most, cap)
            self.assertLessEqual(max(held.used), cap)
            total = [sum(pcpu) for pcpu in zip(*(
                kernel.bandwidths(group)
                for group in kernel.children('machine')), strict=True)]
            self.assertEqual(list(held.used), total)
