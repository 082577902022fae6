# SPDX-License-Identifier: Apache-2.0
"""Criticality from the request to the host, and RT-Kube's Tables III and IV.

Of the tables, what a scheduler decides: where each task goes, and which the kernel would
reject. Nova's scheduler, Placement and our claims are real.
"""

import collections

from nova import context
from oslo_config import cfg

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt.instance import flavors
from nova_rt.instance import waiting
from nova_rt.testing import cloud
from nova_rt.testing import fake_kernel
from nova_rt.testing import full
from nova_rt.testing.fake_driver import FakeContainerDriver

CONF = cfg.CONF
HINT = criticality.NAME
SPEC = criticality.EXTRA_SPEC

# Section V-B: 2.9 ms every 24.2, 18.1 and 14.5 ms, on nodes of 8 CPUs; with FULL=1 as many
# tasks as there, else a quarter of them on a quarter of the CPUs.
RUNTIME_US = 2_900
PERIODS_US = {'A': 24_200, 'B': 18_100, 'C': 14_500}
CPUS = 8 if full.WANTED else 2
FIRST, SECOND = ({letter: tasks * CPUS for letter, tasks in each.items()} for each in (
    {'A': 4, 'B': 3, 'C': 2}, {'A': 2, 'B': 3, 'C': 4}))


class CriticalityCase(cloud.CloudTestCase):

    def start_service(self, name, *args, **kwargs):
        service = super().start_service(name, *args, **kwargs)
        if name == 'conductor':
            self.manager = service.manager
        return service

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.flags(initial_cpu_allocation_ratio=64.0)

    def start_taking(self, host, letters, pcpus=cloud.PCPUS, each=cloud.CAP):
        """Start a host that takes these criticalities.

        :param each: what a pCPU offers
        """
        CONF.set_override('criticalities', list(letters), group='rt')
        self.addCleanup(CONF.clear_override, 'criticalities', group='rt')
        self.start(host, (each,) * pcpus)

    def flavor_of(self, letter, percent=10, vcpus=1):
        return self.make_flavor(percent, vcpus, **({SPEC: letter} if letter else {}))

    def host_of(self, server):
        return self.admin_api.get_server(server['id'])['OS-EXT-SRV-ATTR:host']


class TestHosts(CriticalityCase):

    def test_each_server_goes_where_its_criticality_is_taken(self):
        self.start_taking('plain', 'AB')
        self.start_taking('critical', 'C')
        for letter, host in (('A', 'plain'), ('B', 'plain'), ('C', 'critical'), (None, 'plain')):
            assert self.host_of(self.boot(self.flavor_of(letter))) == host
        assert self.host_of(self.boot(self.flavor_of('C'), hints={HINT: 'A'})) == 'plain'

    def test_without_such_a_host_the_server_is_told_why(self):
        self.start_taking('plain', 'AB')
        refused = self.boot(self.flavor_of('C'), state='ERROR')
        assert 'plain takes servers of criticality A and B only' in refused['fault']['message']

    def test_the_server_has_what_flavor_and_hint_say_together(self):
        self.start_taking('plain', 'ABC')
        server = self.boot(self.flavor_of('C'), hints={HINT: 'B'})
        assert flavors.criticality_of(self.instance_of(server).flavor).name == 'B'

    def test_the_claim_refuses_what_is_forced_past_the_filter(self):
        self.start_taking('plain', 'AB')
        body = self._build_server(flavor_id=self.flavor_of('C'), networks='none',
                                  az='nova:plain')
        server = self._wait_for_state_change(
            self.admin_api.post_server({'server': body}), 'ERROR')
        assert 'takes servers of criticality A and B only' in server['fault']['message']
        assert self.allocated_on('plain') == 0

    def test_what_is_there_stays_when_its_host_takes_it_no_longer(self):
        self.start_taking('plain', 'ABC')
        server = self.boot(self.flavor_of('C'))
        self.start_taking('plain', 'AB')
        self._rebuild_server(server, '155d900f-4e14-4e4c-a73d-069cbf4541e6')
        assert self.host_of(server) == 'plain'
        assert self.used_on(self.computes['plain'])[0] == '10%'
        assert 'only' in self.boot(self.flavor_of('C'), state='ERROR')['fault']['message']

    def test_a_resize_goes_where_the_new_criticality_is_taken(self):
        self.start_taking('plain', 'AB')
        self.start_taking('critical', 'C')
        server = self.boot(self.flavor_of('A'))
        self._resize_server(server, self.flavor_of('C', percent=20))
        assert self.host_of(server) == 'critical'
        self._confirm_resize(server)


class TestRanking(CriticalityCase):

    def test_a_packs_c_spreads_and_b_goes_between(self):
        for host, percent in (('empty', 0), ('half', 50), ('full', 70)):
            self.start_taking(host, 'ABC')
            if percent:
                # It cannot go anywhere else.
                for name in self.computes:
                    if name != host:
                        self._set_service(name, 'disable')
                self.boot(self.make_flavor(percent, cloud.PCPUS))
                for name in self.computes:
                    self._set_service(name, 'enable')
        for letter, host in (('A', 'full'), ('B', 'half'), ('C', 'empty')):
            assert self.host_of(self.boot(self.flavor_of(letter))) == host

    def _set_service(self, host, action):
        service, = (each for each in self.admin_api.get_services(host=host))
        self.admin_api.put_service(service['id'], {
            'status': 'enabled' if action == 'enable' else 'disabled'})


class TestTables(CriticalityCase):

    def deploy(self, letter, count, period_us, runtime_us=RUNTIME_US, state='ACTIVE'):
        """Ask for so many containers of a criticality at once, as a deployment does."""
        flavor = self._create_flavor(vcpu=1, memory_mb=1, disk=0, extra_spec={
            'hw:cpu.rt_runtime_us': str(runtime_us),
            'hw:cpu.rt_period_us': str(period_us), SPEC: letter})
        name = f'{letter}-{len(self.servers())}'
        self.api.post_server({'server': {
            **self._build_server(flavor_id=flavor, networks='none'),
            'name': name, 'min_count': count, 'max_count': count}})
        self.eventually(lambda: self.assertEqual(
            [state] * count, [server['status'] for server in self.servers()
                              if server['name'].startswith(name)]))

    def servers(self):
        return self.admin_api.get_servers(detail=True)

    def places(self):
        return collections.Counter(
            (server['name'][0], server['OS-EXT-SRV-ATTR:host']) for server in self.servers()
            if server['status'] == 'ACTIVE')

    def test_table_3_first_deployment(self):
        self.check_table_3(FIRST)

    @full.only
    def test_table_3_second_deployment(self):
        self.check_table_3(SECOND)

    def check_table_3(self, tasks):
        # A and B alone are 7.68 of 8 CPUs, so the nodes' kernels admit all of a CPU.
        for host, letters in (('I', 'AB'), ('J', 'C')):
            FakeContainerDriver.kernels[host] = fake_kernel.FakeKernel(
                CPUS, multi=True, limit=(1_000_000, 1_000_000))
            self.start_taking(host, letters, CPUS, bandwidth.BW_UNIT)
        for letter, count in tasks.items():
            self.deploy(letter, count, PERIODS_US[letter])
        assert self.places() == {
            ('A', 'I'): tasks['A'], ('B', 'I'): tasks['B'], ('C', 'J'): tasks['C']}
        self.assert_settled(*self.servers())

    def test_table_4(self):
        # Each CPU holds one of the tasks of section V-A: 3.8 ms every 4 ms.
        self.start_taking('N1', 'C', CPUS)
        self.deploy('C', CPUS, 4_000, 3_800)
        assert self.places() == {('C', 'N1'): CPUS}
        self.start_taking('N2', 'C', CPUS)
        self.deploy('C', 1, 4_000, 3_800)
        assert self.places() == {('C', 'N1'): CPUS, ('C', 'N2'): 1}
        self.deploy('C', CPUS - 1, 4_000, 3_800)
        self.deploy('C', 1, 4_000, 3_800, state='ERROR')
        assert self.places() == {('C', 'N1'): CPUS, ('C', 'N2'): CPUS}
        self.assert_ledgers([95] * CPUS, [95] * CPUS)

    def test_table_4_with_one_pending(self):
        self.flags(wait_for_room=600, group='rt')
        for node in ('N1', 'N2'):
            self.start_taking(node, 'C', CPUS)
            self.deploy('C', CPUS, 4_000, 3_800)
        full = {('C', 'N1'): CPUS, ('C', 'N2'): CPUS}
        assert self.places() == full
        self.deploy('C', 1, 4_000, 3_800, state='BUILD')
        admin = context.get_admin_context()
        self.eventually(lambda: self.assertEqual(1, len(waiting.everyone(admin))))
        self.manager.place_those_who_wait(admin)
        assert self.places() == full
        self._delete_server(next(each for each in self.servers()
                                 if each['OS-EXT-SRV-ATTR:host'] == 'N1'))

        def is_placed():
            self.manager.place_those_who_wait(admin)
            self.assertEqual(full, self.places())
        self.eventually(is_placed)
        self.assert_ledgers([95] * CPUS, [95] * CPUS)
