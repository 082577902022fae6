# SPDX-License-Identifier: Apache-2.0
"""Random operations with faults, after which all must say the same.

NOVA_RT_CHAOS_SEEDS names the seeds (``1-10``; 1 by default), and
NOVA_RT_CHAOS_OPERATIONS how many operations each has (100). A seed gives the
same operations each time, though not the same order of events: Nova's services
are threads.
"""

import collections
import contextlib
import errno
import os
import random
import time
from unittest import mock

import fixtures
from nova import objects
from nova.compute import vm_states
from nova.tests.functional.api import client
from oslo_messaging.rpc import client as rpc_client

from nova_rt.compute import held
from nova_rt.tests.functional import cloud
from nova_rt.tests.functional import fake_driver

OPERATIONS = int(os.environ.get('NOVA_RT_CHAOS_OPERATIONS', '100'))
_first, _, _last = os.environ.get('NOVA_RT_CHAOS_SEEDS', '1').partition('-')
SEEDS = range(int(_first), int(_last or _first) + 1)

HOSTS = ('host1', 'host2', 'host3', 'host4')
MOST_SERVERS = 10
FAULTS = 0.25
SHAPES = ((50, 2), (30, 1), (40, 3), (75, 1), (10, 4), (20, 2))
IMAGES = ('155d900f-4e14-4e4c-a73d-069cbf4541e6',
          'a2459075-d96c-40d5-893e-577ff92e721c')
# What can be done to a server, by its status.
POSSIBLE = {
    'ACTIVE': ('os-stop', 'soft', 'hard', 'resize', 'migrate', 'shelve',
               'rebuild', 'pause', 'suspend', 'delete'),
    'SHUTOFF': ('os-start', 'resize', 'migrate', 'shelve', 'rebuild',
                'delete'),
    'VERIFY_RESIZE': ('confirmResize', 'revertResize', 'revertResize',
                      'delete'),
    'SHELVED_OFFLOADED': ('unshelve', 'unshelve', 'delete'),
    'PAUSED': ('unpause', 'delete'),
    'SUSPENDED': ('resume', 'delete'),
    'ERROR': ('hard', 'delete'),
}
LOSABLE = {
    'build_and_run_instance', 'prep_resize', 'resize_instance',
    'finish_resize', 'confirm_resize', 'revert_resize',
    'finish_revert_resize', 'stop_instance', 'start_instance',
    'reboot_instance', 'rebuild_instance', 'unshelve_instance'}
AT_REST_S = 15


class TestChaos(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=3, group='scheduler')
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.flags(allow_resize_to_same_host=True, shelved_offload_time=0)
        self.done = collections.Counter()
        for host in HOSTS:
            fake_driver.FakeContainerDriver.kernels[host] = fake_driver.WatchedKernel(
                cloud.PCPUS, multi=True)
            self.start(host)
        self.flavors = [self.make_flavor(percent, vcpus)
                        for percent, vcpus in SHAPES]
        self.flavors.append(self._create_flavor(vcpu=1, memory_mb=64, disk=1))
        self.lose_next = False
        cast = rpc_client._BaseCallContext.cast
        self.useFixture(fixtures.MockPatchObject(
            rpc_client._BaseCallContext, 'cast',
            lambda *args, **kwargs: self.perhaps(cast, *args, **kwargs)))

    def perhaps(self, cast, context_of_call, ctxt, method, **kwargs):
        if self.lose_next and method in LOSABLE:
            self.lose_next = False
            self.done[f'lost {method}'] += 1
            return
        cast(context_of_call, ctxt, method, **kwargs)

    # One operation

    def operate(self):
        servers = self.api.get_servers(detail=True)
        if len(servers) < 2 or (len(servers) < MOST_SERVERS
                                and self.random.random() < 0.3):
            return self.create()
        if self.random.random() < 0.06:
            return self.restart(self.random.choice(HOSTS))
        if self.random.random() < 0.04:
            return self.evacuate(self.random.choice(HOSTS))
        server = self.random.choice(sorted(
            servers, key=lambda each: each['created'] + each['id']))
        possible = POSSIBLE.get(server['status'], ('delete',))
        return self.act(server, self.random.choice(possible))

    def create(self):
        request = {'server': self._build_server(
            flavor_id=self.random.choice(self.flavors), networks='none')}
        if self.random.random() < 0.3:
            request['os:scheduler_hints'] = {
                'cpu.rt_runtime_us': self.random.choice((15_000, 45_000)),
                'cpu.rt_period_us': 100_000}
        self.api.post_server(request)
        self.done['create'] += 1

    def act(self, server, name):
        self.done[name] += 1
        if name == 'delete':
            return self.delete(server)
        body = {
            'soft': {'reboot': {'type': 'SOFT'}},
            'hard': {'reboot': {'type': 'HARD'}},
            'resize': {'resize': {
                'flavorRef': self.random.choice(self.flavors)}},
            'rebuild': {'rebuild': {
                'imageRef': self.random.choice(IMAGES)}},
        }.get(name, {name: None})
        # A server may be changing while it is asked to: a 409 is an answer.
        self.admin_api.post_server_action(
            server['id'], body, check_response_status=[200, 202, 204, 400,
                                                       404, 409])

    def delete(self, server):
        # It may be gone since it was listed.
        with contextlib.suppress(client.OpenStackApiNotFoundException):
            self.api.delete_server(server['id'])

    def restart(self, host):
        self.done['restart'] += 1
        # A service that cannot even try the kernel out does not start.
        self.kernel_of(self.computes[host]).refuse_next = None
        self.start(host)

    def evacuate(self, host):
        self.done['evacuate'] += 1
        compute = self.computes[host]
        compute.stop()
        (service,) = self.admin_api.get_services(
            host=host, binary='nova-compute')
        self.admin_api.put_service_force_down(service['id'], True)
        with mock.patch.object(self.admin_api, 'microversion', '2.94'):
            for server in self.api.get_servers(detail=True):
                if server['OS-EXT-SRV-ATTR:host'] == host:
                    self.admin_api.post_server_action(
                        server['id'], {'evacuate': {}},
                        check_response_status=[200, 202, 400, 404, 409])
            self.rest()
        self.restart(host)
        self.admin_api.put_service_force_down(service['id'], False)

    # Faults, and the end of each operation

    def break_something(self):
        fault = self.random.choice(('refuse', 'refuse all', 'lose', 'kill'))
        self.done[f'fault: {fault}'] += 1
        host = self.random.choice(HOSTS)
        kernel = self.kernel_of(self.computes[host])
        number = self.random.choice((errno.EBUSY, errno.EINVAL))
        if fault == 'refuse':
            kernel.refuse_next = number
        elif fault == 'refuse all':
            kernel.refuse_containers = number
        elif fault == 'lose':
            self.lose_next = True
        return host if fault == 'kill' else None

    def mend(self):
        self.lose_next = False
        for compute in self.computes.values():
            self.kernel_of(compute).refuse_next = None
            self.kernel_of(compute).refuse_containers = None

    def rest(self):
        """Wait until nothing is in motion, or nothing moves any more."""
        end = time.monotonic() + AT_REST_S
        while self.in_motion() and time.monotonic() < end:
            time.sleep(0.1)

    def in_motion(self):
        # The database, as a list by the API takes longer than most operations.
        there = self.cell_context()
        return bool(objects.BuildRequestList.get_all(there)) or any(
            each.task_state or each.vm_state == vm_states.BUILDING
            for each in objects.InstanceList.get_by_filters(
                there, {'deleted': False}, expected_attrs=[]))

    def step(self):
        broken = self.random.random() < FAULTS
        killed = self.break_something() if broken else None
        self.operate()
        if killed:
            self.restart(killed)
        if broken or self.random.random() < 0.7:
            self.rest()
        self.mend()
        self.assert_never_over_the_cap()

    def assert_never_over_the_cap(self):
        for host, compute in self.computes.items():
            self.assertLessEqual(self.kernel_of(compute).most, cloud.CAP, host)
            self.assertLessEqual(
                max(compute.manager.rt.shares.used), cloud.CAP, host)

    def clear_up(self):
        """Do what an operator does after faults: restart, reset, reboot."""
        self.rest()
        for host in HOSTS:
            self.restart(host)
        self.rest()
        for server in self.api.get_servers(detail=True):
            if server['OS-EXT-STS:task_state'] or server['status'] == 'BUILD':
                self.done['reset'] += 1
                self.admin_api.post_server_action(
                    server['id'], {'os-resetState': {'state': 'error'}})
        for server in self.api.get_servers(detail=True):
            if server['status'] == 'ERROR':
                self.act(server, 'hard')
        self.rest()
        self._run_periodics()

    def heal(self):
        for host in HOSTS:
            auditor = self.auditor_of(host)
            for drift in auditor.look():
                self.done[f'drift: {drift.kind}'] += 1
                auditor.heal(drift)
        self._run_periodics()

    def assert_each_has_its_reservation(self):
        for server in self.api.get_servers(detail=True):
            instance = self.instance_of(server)
            wanted = held.reservation_of(instance.flavor)
            if wanted is not None and server['status'] != 'ERROR' \
                    and instance.host:
                holding = held.holding_of(instance)
                self.assertEqual(wanted, holding.reservation, server['id'])

    def assert_nothing_leaks(self):
        for server in self.api.get_servers(detail=True):
            self.delete(server)
        self.rest()
        for host in HOSTS:
            self.start(host)
        self._run_periodics()
        self.assertEqual([], self.api.get_servers())
        self.assert_audited()
        self.assert_settled()

    def chaos(self, seed):
        self.random = random.Random(seed)
        print(f'NOVA_RT_CHAOS_SEEDS={seed} '
              f'NOVA_RT_CHAOS_OPERATIONS={OPERATIONS}')
        for _ in range(OPERATIONS):
            self.step()
        self.clear_up()
        self.heal()
        print(dict(self.done))
        self.assert_audited()
        self.assert_never_over_the_cap()
        self.assert_each_has_its_reservation()
        self.assert_nothing_leaks()


def _test(seed):
    def test(self):
        self.chaos(seed)
    return test


for _seed in SEEDS:
    setattr(TestChaos,
            f'test_after_chaos_all_say_the_same_with_seed_{_seed}',
            _test(_seed))
