# SPDX-License-Identifier: Apache-2.0
"""Reservations of servers whose host has failed, one and many at once."""

from unittest import mock

from nova import objects

from nova_rt.filters import rt_share_filter
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import test_moves as moves


class EvacuationTestCase(moves.MovesTestCase):

    def setUp(self):
        super().setUp()
        self.other = self.boot_on('host2', self.make_flavor(20, 1))
        self.server = self.boot_on('host1', self.make_flavor(50, 2))

    def evacuate(self, **expected):
        # From 2.95 on, an evacuated server stays stopped.
        with mock.patch.object(self.admin_api, 'microversion', '2.94'):
            return self._evacuate_server(self.server, **expected)


class TestEvacuation(EvacuationTestCase):

    def test_it_runs_on_the_pcpus_claimed_on_the_other_host(self):
        self.take_down('host1')
        self.evacuate(expected_state='ACTIVE', expected_host='host2')
        self.assertEqual((1, 2), self.pcpus_of(self.server))
        self.assert_settled(self.server, self.other)

    def test_its_first_host_comes_back_without_it(self):
        compute = self.take_down('host1')
        self.evacuate(expected_state='ACTIVE', expected_host='host2')
        self.computes['host1'] = self.restart_compute_service(compute)
        self.assert_settled(self.server, self.other)

    def test_without_room_it_stays_as_it_was_and_tells_why(self):
        # There is room in the sum, or Placement would refuse.
        full = self.boot_on('host2', self.make_flavor(60, 4))
        self.take_down('host1')
        with (mock.patch('nova_rt.compute.evacuation._ATTEMPTS', 0),
              mock.patch('nova_rt.filters.rt_share_filter.RTShareFilter'
                         '.filter_all', lambda _, hosts, spec: list(hosts))):
            self.evacuate(expected_state='ACTIVE', expected_host='host1',
                          expected_migration_status='failed')
        self.assertIn('lacks', self.fault_of(self.server))
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.other, full)

    def test_where_its_claim_comes_too_late_it_goes_to_another_host(self):
        full = self.boot_on('host2', self.make_flavor(60, 4))
        self._start_compute('host3')
        self.take_down('host1')
        filtered = rt_share_filter.RTShareFilter.filter_all
        asked = []

        def first_to_host2(self, hosts, spec):
            asked.append(spec)
            return filtered(self, hosts, spec) if len(asked) > 1 else [
                host_state for host_state in hosts if host_state.host == 'host2']
        with mock.patch.object(rt_share_filter.RTShareFilter, 'filter_all',
                               first_to_host2):
            self.evacuate(expected_state='ACTIVE', expected_host='host3')
        self.assertEqual(2, len(asked))
        self.assert_settled(self.server, self.other, full)

    def test_a_rebuild_with_an_evacuation_left_over_keeps_its_pcpus(self):
        objects.Migration(
            self.cell_context(), source_compute='host1', source_node='host1',
            instance_uuid=self.server['id'], status='accepted',
            migration_type='evacuation').create()
        self._rebuild_server(self.server, self.server['image']['id'])
        self.assertEqual((0, 1), self.pcpus_of(self.server))

    def test_a_kernel_that_refuses_leaves_no_claim(self):
        self.take_down('host1')
        kernel = self.kernel_of(self.computes['host2'])
        kernel.refuse_containers = 22
        self.evacuate(expected_state='ERROR', expected_host='host1',
                      expected_migration_status='failed')
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.other)


class TestManyEvacuations(moves.MovesTestCase):

    HOSTS = 3
    # Of so many percent of a CPU, of which three hosts of four take a fifth more.
    SERVERS, PERCENT = (50, 19) if full.WANTED else (10, 60)

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.start('failing', (cloud.CAP,) * 12)
        self.api.post_server({'server': dict(
            self._build_server(flavor_id=self.make_flavor(self.PERCENT, 1),
                               networks='none', az='nova:failing'),
            min_count=self.SERVERS, max_count=self.SERVERS)})
        self.servers = self.active_on('failing')

    def active_on(self, *hosts):
        """Wait until all are active on these hosts; return them."""
        found = []

        def check():
            found[:] = self.api.get_servers()
            self.assertEqual([], [
                server['fault'] if 'fault' in server else server['id']
                for server in found
                if server['status'] != 'ACTIVE' or server['OS-EXT-STS:task_state']
                or server['OS-EXT-SRV-ATTR:host'] not in hosts])
        self._wait_for_assert(check, max_retries=360)
        return found

    def test_many_at_once_onto_three_hosts_strand_none_that_fits(self):
        self.take_down('failing')
        with mock.patch.object(self.admin_api, 'microversion', '2.94'):
            for server in self.servers:
                self.admin_api.post_server_action(
                    server['id'], {'evacuate': {}})
        servers = self.active_on('host1', 'host2', 'host3')
        self.assertEqual(self.SERVERS, len(servers))
        self.assert_settled(*servers)
