# SPDX-License-Identifier: Apache-2.0
"""What Placement knows of the hosts' bandwidth, and allocates."""

import threading
from unittest import mock

from nova.cmd import manage
from nova.scheduler.client import report
from nova.tests import fixtures as nova_fixtures
from oslo_utils import uuidutils

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.filters import request_filter
from nova_rt.testing import cases
from nova_rt.testing import cloud

CAP = cloud.CAP
HALF = bandwidth.BW_UNIT // 2


class AllocationsTestCase(cloud.CloudTestCase):

    HOSTS = 1

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        for i in range(1, self.HOSTS + 1):
            self.start(f'host{i}')

    def provider(self, host='host1'):
        return self._get_provider_uuid_by_host(host)

    def share_of(self, server):
        """Return what Placement has allocated to a server, by provider."""
        allocations = self._get_allocations_by_server_uuid(server['id'])
        return {provider: allocation['resources'].get(shares.RESOURCE_CLASS)
                for provider, allocation in allocations.items()}


class TestInventory(AllocationsTestCase):

    def test_what_cap_and_kernel_keep_back_is_reserved(self):
        told = self._get_provider_inventory(self.provider())
        self.assertEqual(
            {'total': 4 << 20, 'reserved': (4 << 20) - 4 * CAP, 'min_unit': 1,
             'max_unit': 2 ** 31 - 1, 'step_size': 1, 'allocation_ratio': 1.0},
            told[shares.RESOURCE_CLASS])
        self.assertIn(shares.TRAIT, self._get_provider_traits(self.provider()))

    def test_a_smaller_cap_and_fewer_cpus_are_told(self):
        self.start('host1', (HALF, HALF, 0, 0))
        told = self._get_provider_inventory(self.provider())
        self.assertEqual(3 << 20, told[shares.RESOURCE_CLASS]['reserved'])

    def test_a_host_of_256_pcpus_fits_the_limits_of_placement(self):
        self.start('host2', (bandwidth.BW_UNIT,) * 256)
        told = self._get_provider_inventory(self.provider('host2'))
        self.assertEqual(2 ** 28, told[shares.RESOURCE_CLASS]['total'])
        self.boot(self.make_flavor(90, 256))
        self.assertEqual(256 * bandwidth.to_bandwidth(90, 100),
                         self.allocated_on('host2'))


class TestAllocations(AllocationsTestCase):

    HOSTS = 2

    def test_a_server_has_allocated_what_it_holds(self):
        server = self.boot(self.make_flavor(50, 2))
        self.assertEqual([2 * HALF], list(self.share_of(server).values()))
        self.assert_settled(server)

    def test_a_hint_decides_and_not_the_flavor(self):
        server = self.boot(self.make_flavor(50, 2),
                           hints={'cpu.rt_runtime_us': '25000'})
        self.assertEqual([HALF], list(self.share_of(server).values()))
        self.assertEqual(str(HALF), self.instance_of(
            server).flavor.extra_specs[shares.EXTRA_SPEC])
        self.assert_settled(server)

    def test_a_server_without_a_reservation_has_no_share_allocated(self):
        server = self.boot(self._create_flavor(vcpu=1, memory_mb=64, disk=1))
        self.assertEqual([None], list(self.share_of(server).values()))

    def test_a_share_given_by_hand_is_neither_asked_for_nor_kept(self):
        flavor = cases.make_flavor({shares.EXTRA_SPEC: '5'})
        with mock.patch('nova_rt.shares.check_extra_spec'):
            server = self.boot(flavor)
        self.assertEqual([None], list(self.share_of(server).values()))
        self.assertNotIn(shares.EXTRA_SPEC,
                         self.instance_of(server).flavor.extra_specs)

    def test_while_it_is_moved_it_has_an_allocation_of_both_hosts(self):
        server = self.boot(self.make_flavor(50, 2), az='nova:host1')
        self._resize_server(server, self.make_flavor(25, 4))
        self.assertEqual([2 * HALF, 2 * HALF],
                         [self.allocated_on(host) for host in self.computes])
        self._revert_resize(server)
        self.assert_settled(server)

    def test_a_resize_changes_what_is_allocated(self):
        server = self.boot(self.make_flavor(50, 2))
        self._resize_server(server, self.make_flavor(25, 1))
        self._confirm_resize(server)
        self.assertEqual([HALF // 2], list(self.share_of(server).values()))
        self.assertEqual(str(HALF // 2), self.instance_of(
            server).flavor.extra_specs[shares.EXTRA_SPEC])
        self.assert_settled(server)

    def test_the_flavor_in_the_database_stays_as_it_was(self):
        flavor = self.make_flavor(50, 2)
        self.boot(flavor)
        self.assertNotIn(shares.EXTRA_SPEC, self.admin_api.get_extra_specs(
            flavor))

    def test_a_lost_allocation_is_healed_by_nova_manage_with_the_share(self):
        server = self.boot(self.make_flavor(50, 2))
        self.placement.delete(f'/allocations/{server["id"]}')
        self.assertEqual(0, manage.PlacementCommands().heal_allocations(
            instance_uuid=server['id']))
        self.assert_settled(server)

    def test_placement_is_asked_once_where_there_is_room(self):
        get = report.SchedulerReportClient.get
        asked = []

        def count(client, url, *args, **kwargs):
            asked.append(url)
            return get(client, url, *args, **kwargs)
        with mock.patch.object(
                report.SchedulerReportClient, 'get', count):
            self.boot(self.make_flavor(50, 2))
        self.assertEqual(1, len([
            url for url in asked if url.startswith('/allocation_cand')]))

    def test_without_a_host_that_offers_any_it_says_so(self):
        for host in self.computes:
            self.start(host, (0,) * 4)
        server = self.boot(self.make_flavor(50, 2), state='ERROR')
        self.assertIn('offers no CPU reservations', server['fault']['message'])

    def test_what_is_given_back_while_placement_is_asked_is_taken(self):
        full = self.make_flavor(90, 4)
        server, _ = (self.boot(full) for _ in self.computes)
        lacks = request_filter._is_refused

        def lacks_no_more(*args):
            self._delete_server(server)
            return lacks(*args)
        with mock.patch.object(
                request_filter, '_is_refused', lacks_no_more):
            self.boot(full)

    def test_what_else_lacks_is_left_to_nova(self):
        server = self.boot(self.make_flavor(50, 2, memory_mb=10 ** 6),
                           state='ERROR')
        self.assertEqual('No valid host was found. ',
                         server['fault']['message'])

    def test_what_is_allocated_and_not_yet_claimed_is_explained(self):
        self.placement.put(f'/allocations/{uuidutils.generate_uuid()}', {
            'allocations': [
                {'resource_provider': {'uuid': self.provider(host)},
                 'resources': {shares.RESOURCE_CLASS: 4 * CAP}}
                for host in self.computes],
            'project_id': 'p', 'user_id': 'u'}, version='1.8')
        server = self.boot(self.make_flavor(50, 2), state='ERROR')
        self.assertIn('allocated to servers that are being built',
                      server['fault']['message'])


class TestReconfiguredHost(AllocationsTestCase):
    """It keeps its servers, takes no new ones, and they can leave."""

    HOSTS = 2

    def setUp(self):
        super().setUp()
        self.flavor = self.make_flavor(50, 4)
        self.server = self.boot(self.flavor, az='nova:host1')

    def assert_kept_and_no_more(self):
        self.assertEqual(4 * HALF, self.allocated_on('host1'))
        self.boot(self.make_flavor(1, 1), az='nova:host1', state='ERROR')
        self._reboot_server(self.server, hard=True)
        self.assert_settled(self.server)

    def test_with_fewer_pcpus(self):
        self.start('host1', (CAP, 0, 0, 0))
        self.assert_kept_and_no_more()

    def test_with_a_smaller_cap(self):
        self.start('host1', (HALF // 2,) * 4)
        self.assert_kept_and_no_more()

    def test_with_reservations_turned_off(self):
        self.start('host1', (0,) * 4)
        self.assertNotIn(shares.TRAIT,
                         self._get_provider_traits(self.provider()))
        self.assert_kept_and_no_more()

    def test_its_servers_can_be_moved_away(self):
        self.start('host1', (0,) * 4)
        self._migrate_server(self.server)
        self._confirm_resize(self.server)
        self.assert_settled(self.server)
        self.assertEqual(0, self.allocated_on('host1'))

    def test_and_back_while_the_move_is_not_confirmed(self):
        self._migrate_server(self.server)
        self.start('host1', (HALF // 2,) * 4)
        self._revert_resize(self.server)
        self.assert_settled(self.server)


class TestTwoSchedulers(AllocationsTestCase):

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')
        self.useFixture(nova_fixtures.ServiceFixture(
            'scheduler', host='scheduler2'))

    def test_they_never_allocate_the_same_bandwidth(self):
        both_have_asked = threading.Barrier(2, timeout=30)
        ask = report.SchedulerReportClient.get_allocation_candidates

        def asked(client, context, resources):
            answer = ask(client, context, resources)
            both_have_asked.wait()
            return answer
        flavor = self.make_flavor(60, 4)
        body = {'server': self._build_server(
            flavor_id=flavor, networks='none')}
        with mock.patch.object(report.SchedulerReportClient,
                               'get_allocation_candidates', asked):
            servers = [self.api.post_server(body) for _ in range(2)]
            states = self.ended(servers)
        self.assertEqual(['ACTIVE', 'ERROR'], states)
        self.assertEqual(4 * bandwidth.to_bandwidth(60, 100),
                         self.allocated_on('host1'))

    def ended(self, servers):
        def states():
            return sorted(self.api.get_server(server['id'])['status']
                          for server in servers)
        self._wait_for_assert(
            lambda: self.assertNotIn('BUILD', states()), max_retries=60)
        return states()


class TestTwoCells(AllocationsTestCase):

    NUMBER_OF_CELLS = 2

    def test_the_nearest_miss_is_looked_for_in_all_cells(self):
        self.start('host2', cell_name='cell2')
        for host, percent in (('host1', 90), ('host2', 60)):
            self.boot(self.make_flavor(percent, 4), az=f'nova:{host}')
        server = self.boot(self.make_flavor(50, 4), state='ERROR')
        self.assertIn('No room on host2', server['fault']['message'])
