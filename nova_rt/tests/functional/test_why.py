# SPDX-License-Identifier: Apache-2.0
"""nova-rt-manage why, asked on Nova's fixtures."""

import argparse
from unittest import mock

from nova import exception
from oslo_db import exception as db_exc
import pytest
import sqlalchemy.exc

from nova_rt.cmd import manage_base
from nova_rt.cmd import manage_why
from nova_rt.testing import cloud
from nova_rt.view import nodes


class WhyCase(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')

    def why(self, server):
        """Return the rows about a server, by host."""
        command = manage_why.Why(None, None)
        with manage_base.explained(server['id']):
            columns, rows = command.take_action(
                argparse.Namespace(server=server['id']))
        by_host = {}
        for row in rows:
            named = dict(zip(columns, row, strict=True))
            by_host.setdefault(named['host'], []).append(named)
        return by_host

    def refused(self, percent=40, vcpus=4, **kwargs):
        return self.boot(self.make_flavor(percent, vcpus, **kwargs),
                         state='ERROR')


class TestWhy(WhyCase):

    def setUp(self):
        super().setUp()
        for host in ('host1', 'host2'):
            self.start(host)
            self.boot(self.make_flavor(60, 4), az=f'nova:{host}')

    def test_what_placement_refused_is_told_host_by_host_and_pcpu_by_pcpu(self):
        told = self.why(self.refused())
        self.assertEqual({'', 'host1', 'host2'}, set(told))
        self.assertIn('No room on', told[''][0]['why'])
        for host in ('host1', 'host2'):
            share, whole, pcpus, nearest = told[host]
            self.assertEqual(
                ('CUSTOM_RT_SHARE', '160%', '140%', '20%'),
                tuple(share[column] for column in (
                    'what', 'needed', 'left', 'missing')))
            self.assertIn('0 of 4 have that much left', whole['why'])
            self.assertEqual(('pCPU 0-3', '5%'),
                             (pcpus['what'], pcpus['missing']))
            self.assertEqual('With a runtime of 35000 µs every 100000 µs it would fit.',
                             nearest['why'])

    def test_what_only_the_pcpus_lack_is_told(self):
        told = self.why(self.refused(40, 1))
        self.assertEqual(['', 'pCPU 0-3', 'nearest'],
                         [row['what'] for row in told['host1']])

    def test_what_has_nothing_to_do_with_reservations_is_told_too(self):
        flavor = self._create_flavor(vcpu=1, memory_mb=10 ** 6, disk=1)
        told = self.why(self.boot(flavor, state='ERROR'))
        self.assertEqual(['MEMORY_MB'],
                         [row['what'] for row in told['host1']])

    def test_a_trait_that_flavor_or_image_asks_for_is_told(self):
        self._set_provider_traits(self._get_provider_uuid_by_host('host1'), [
            *self._get_provider_traits(self._get_provider_uuid_by_host('host1')),
            'HW_CPU_X86_SGX'])
        told = self.why(self.refused(10, 1, **{
            'trait:HW_CPU_X86_SGX': 'forbidden', 'trait:HW_CPU_X86_AVX2': 'required'}))
        self.assertEqual(
            ['The host lacks the trait HW_CPU_X86_AVX2, which is required.',
             'The host has the trait HW_CPU_X86_SGX, which is forbidden.'],
            [row['why'] for row in told['host1']])
        self.assertEqual(['trait'], [row['what'] for row in told['host2']])

    def aggregate(self, *hosts, **metadata):
        """Make a host aggregate."""
        made = self.admin_api.post_aggregate({'aggregate': {'name': ' '.join(hosts)}})
        for host in hosts:
            self.admin_api.add_host_to_aggregate(made['id'], host)
        self.admin_api.post_aggregate_action(
            made['id'], {'set_metadata': {'metadata': metadata}})

    def test_another_availability_zone_is_told(self):
        self.start('host3')
        self.aggregate('host3', availability_zone='other')
        told = self.why(self.boot(self.make_flavor(10, 4), az='other'))
        (row,) = told['host1']
        self.assertEqual(
            ('zone', 'The host is in the availability zone nova, but other is asked for.'),
            (row['what'], row['why']))
        self.assertEqual('The server fits now.', told['host3'][0]['why'])

    def test_what_aggregates_are_for_is_told_as_novas_filters_see_it(self):
        self.aggregate('host1', size='large')
        self.start('host3')
        self.aggregate('host3', size='small', filter_tenant_id='somebody')
        server = self.boot(self.make_flavor(
            20, 4, **{'aggregate_instance_extra_specs:size': 'small'}))
        self.assertNotIn('aggregate', [row['what'] for row in self.why(server)['host1']])
        enabled = ['AggregateInstanceExtraSpecsFilter', 'AggregateMultiTenancyIsolation']
        self.flags(enabled_filters=enabled, group='filter_scheduler')
        told = self.why(server)
        self.assertEqual(
            ["Nova's AggregateInstanceExtraSpecsFilter refuses the host: its aggregates lack "
             "what the flavor's extra specs ask of them."],
            [row['why'] for row in told['host2'] if row['what'] == 'aggregate'])
        self.assertEqual(
            ["Nova's AggregateMultiTenancyIsolation refuses the host: its aggregates are for "
             'other projects.'], [row['why'] for row in told['host3']])

    def test_a_host_that_is_down_or_disabled_is_told(self):
        server = self.refused()
        service = self.admin_api.get_services(
            host='host1', binary='nova-compute')[0]
        self.admin_api.put_service_force_down(service['id'], True)
        self.assertEqual('The compute service is down.',
                         self.why(server)['host1'][0]['why'])
        self.admin_api.put_service(
            service['id'], {'status': 'disabled',
                            'disabled_reason': 'new disks'})
        self.assertEqual('The compute service is disabled (new disks).',
                         self.why(server)['host1'][0]['why'])

    def test_a_host_that_offers_none_is_told(self):
        server = self.refused()
        self.start('host2', (0,) * 4)
        (row,) = self.why(server)['host2']
        self.assertEqual('The host offers no CPU reservations.', row['why'])

    def test_a_cell_that_does_not_answer_is_told(self):
        server = self.refused()
        with mock.patch.object(nodes, 'of_cell', side_effect=exception.DBNotAllowed(binary='it')):
            told = self.why(server)
        self.assertEqual(['fault', 'cell'], [row['what'] for row in told.pop('')])
        self.assertEqual({}, told)

    def test_where_there_is_room_by_now_it_says_so(self):
        server = self.refused()
        self.start('host3')
        (row,) = self.why(server)['host3']
        self.assertEqual('The server fits now.', row['why'])

    def test_a_server_that_nova_does_not_know_is_one_sentence(self):
        with pytest.raises(manage_base.CommandError, match='knows no server'):
            self.why({'id': '12345678-1234-4234-8234-123456789012'})

    def test_a_database_that_is_away_is_one_sentence(self):
        away = db_exc.DBConnectionError(sqlalchemy.exc.ArgumentError('x'))
        with (mock.patch('nova_rt.explain.collect.of_server', side_effect=away),
              pytest.raises(manage_base.CommandError) as why):
            self.why({'id': 'any'})
        self.assertIn('A database cannot be read: the connection is not a '
                      'database URL', str(why.value))


class TestWhyWithMoves(WhyCase):
    """60% fit none of four pCPUs with 45% on each, but do once a vCPU is moved."""

    def setUp(self):
        super().setUp()
        self.start('host1')
        half = self.make_flavor(45, 1)
        for _ in range(4):
            self.boot(half)

    def test_that_moves_would_make_room_is_told_with_the_command(self):
        told = self.why(self.refused(60, 1))['host1'][-1]
        self.assertEqual('moves', told['what'])
        self.assertIn('Moving 1 vCPU (openstack rt defrag plan --host host1', told['why'])

    def test_a_host_that_makes_room_by_itself_is_told_to_and_does(self):
        refused = self.refused(60, 1)
        self.flags(defrag_on_refusal=True, group='rt')
        self._run_periodics()
        self.assertEqual(
            'If no host has room as it is, this one makes room by itself: it moves 1 vCPU '
            '([rt] defrag_on_refusal).', self.why(refused)['host1'][-1]['why'])
        self.boot(self.make_flavor(60, 1))
