# SPDX-License-Identifier: Apache-2.0
"""Requests for many servers, with changed flavors, and for a given host."""

from nova_rt.testing import cases
from nova_rt.testing import cloud


class RequestsTestCase(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        for i in (1, 2, 3):
            self._start_compute(f'host{i}')

    def create_many(self, flavor, count, **hints):
        self.api.post_server({
            'server': dict(
                self._build_server(flavor_id=flavor, networks='none'),
                min_count=count, max_count=count),
            'os:scheduler_hints': hints})

    def servers(self):
        return self.api.get_servers(detail=True)

    def allocations(self):
        return [allocation for provider in self._get_all_providers()
                for allocation in self._get_allocations_by_provider_uuid(
                    provider['uuid'])]


class TestManyServers(RequestsTestCase):

    def wait_for_all(self, status, count):
        self._wait_for_assert(lambda: self.assertEqual(
            [status] * count, [server['status'] for server in self.servers()]),
            max_retries=60)

    def test_of_five_where_three_fit_none_is_built_and_all_say_why(self):
        self.create_many(self.make_flavor(60, 4), 5)
        self.wait_for_all('ERROR', 5)
        for server in self.servers():
            self.assertIn('5 servers are wanted, but only 3 of them fit',
                          server['fault']['message'])
        self.assertEqual([], self.allocations())
        self.assert_ledgers(*[[0] * 4] * 3)

    def test_after_a_refused_request_there_is_as_much_room_as_before(self):
        self.create_many(self.make_flavor(60, 4), 5)
        self.wait_for_all('ERROR', 5)
        for server in self.servers():
            self._delete_server(server)
        self.create_many(self.make_flavor(60, 4), 3)
        self.wait_for_all('ACTIVE', 3)
        self.assert_settled(*self.servers())

    def test_as_many_as_fit_are_built(self):
        self.create_many(self.make_flavor(45, 4), 6)
        self.wait_for_all('ACTIVE', 6)
        self.assert_ledgers(*[[90] * 4] * 3)
        self.assert_settled(*self.servers())

    def test_servers_that_keep_apart_are_one_on_each_host(self):
        group = self.api.post_server_groups(
            {'name': 'apart', 'policy': 'anti-affinity'})
        self.create_many(self.make_flavor(30, 4), 3, group=group['id'])
        self.wait_for_all('ACTIVE', 3)
        self.assert_ledgers(*[[30] * 4] * 3)
        self.assert_settled(*self.servers())

    def test_one_of_many_is_moved_where_only_one_fits(self):
        self.create_many(self.make_flavor(45, 4), 2)
        self.wait_for_all('ACTIVE', 2)
        for host in ('host1', 'host2', 'host3'):
            self.boot(self.make_flavor(45, 4), az=f'nova:{host}')
        server = self.servers()[-1]
        self._migrate_server(server)
        self._confirm_resize(server)
        self.assert_settled(*self.servers())


class TestChangedFlavors(RequestsTestCase):

    def test_servers_keep_what_their_flavor_was(self):
        flavor = self.make_flavor(50, 2)
        server = self.boot(flavor)
        self.admin_api.post_extra_spec(
            flavor, {'extra_specs': {cases.RUNTIME: '90000'}})
        self.assert_settled(server)
        self._reboot_server(server, hard=True)
        self.assert_settled(server)
        self.assertEqual('50%', self.used_on(
            self.computes[self.host_of(server)])[0])

    def test_servers_created_afterwards_have_the_new_one(self):
        flavor = self.make_flavor(50, 2)
        first = self.boot(flavor)
        self.admin_api.post_extra_spec(
            flavor, {'extra_specs': {cases.RUNTIME: '90000'}})
        second = self.boot(flavor)
        self.assertIn('90%', self.used_on(
            self.computes[self.host_of(second)]))
        self.assert_settled(first, second)

    def host_of(self, server):
        return self.api.get_server(server['id'])['OS-EXT-SRV-ATTR:host']


class TestGivenHost(RequestsTestCase):

    def test_a_full_host_asked_for_by_name_refuses_at_the_claim(self):
        full = self.boot(self.make_flavor(60, 4), az='nova:host2')
        server = self.boot(self.make_flavor(50, 1), az='nova:host2',
                           state='ERROR')
        self.assertIn('No room for the reservation on host2',
                      server['fault']['message'])
        self.assertIn('lacks 15%', server['fault']['message'])
        self.assert_settled(full)

    def test_a_host_preferred_by_name_refuses_in_the_filter(self):
        full = self.boot(self.make_flavor(60, 4), az='nova:host2')
        server = self.boot(self.make_flavor(50, 1), host='host2',
                           state='ERROR')
        self.assertIn('No room on host2', server['fault']['message'])
        self.assert_settled(full)


class TestHintsAlone(RequestsTestCase):

    def test_hints_give_a_reservation_to_a_flavor_without_one(self):
        server = self.boot(
            self._create_flavor(vcpu=2, memory_mb=64, disk=1),
            hints={'cpu.rt_runtime_us': '30000',
                   'cpu.rt_period_us': '100000'})
        self.assertEqual(2, len(self.pcpus_of(server)))
        self.assert_settled(server)
