# SPDX-License-Identifier: Apache-2.0
"""What Nova's own filters say of a host is told, whatever they look at."""

import json
from unittest import mock

from nova import context
from nova import objects
from nova.scheduler import filters

from nova_rt import shortfalls
from nova_rt.explain import collect
from nova_rt.testing import cloud

FITS = 'The server fits now.'
ALIAS = json.dumps({'vendor_id': '10de', 'product_id': '1eb8', 'name': 'gpu'})


class Whimsical(filters.BaseHostFilter):
    """An operator's own filter, which lets nothing pass."""

    def host_passes(self, host_state, spec_obj):
        return False


class Broken(filters.BaseHostFilter):
    """One that fails."""

    def host_passes(self, host_state, spec_obj):
        raise KeyError(host_state.host)


class TestFilters(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        for host in ('host1', 'host2'):
            self.start(host)

    def enable(self, *names, **options):
        self.flags(enabled_filters=['ComputeFilter', 'RTShareFilter', *names], **options,
                   group='filter_scheduler')

    def told(self, question):
        """Return what is told of each host, by host."""
        found = {}
        for each in shortfalls.explain(
                question.hosts(context.get_admin_context()), question.request):
            found.setdefault(each.host, []).append(each.sentence)
        return found

    def of_flavor(self, hints=(), **extra_specs):
        """Return what is told of a flavor with a reservation and these extra specs."""
        return self.of(self.make_flavor(10, 1, **{
            name.replace('__', ':', 1): value for name, value in extra_specs.items()}), hints)

    def of(self, flavor, hints=()):
        admin = context.get_admin_context()
        return self.told(collect.of_flavor(
            admin, objects.Flavor.get_by_flavor_id(admin, flavor), dict(hints)))

    def capacity(self, hints):
        """Return what fits each host of a flavor with a reservation, and all."""
        admin = context.get_admin_context()
        question = collect.of_flavor(admin, objects.Flavor.get_by_flavor_id(
            admin, self.make_flavor(10, 1)), hints)
        rooms = {host.name: shortfalls.room(host, question.request)[0]
                 for host in question.hosts(admin)}
        return rooms, shortfalls.total(rooms.values(), question.request)

    def assert_refused(self, told, name, meaning, hosts=('host1', 'host2')):
        for host in ('host1', 'host2'):
            expected = (f"Nova's {name} refuses the host: {meaning}." if host in hosts
                        else FITS)
            self.assertEqual([expected], told[host])

    def server_on(self, host, **hints):
        return self.boot(self.make_flavor(10, 1), az=f'nova:{host}', hints=hints)

    def group(self, policy):
        return self.api.post_server_groups({'name': policy, 'policy': policy})['id']

    def test_where_the_servers_of_a_group_are_decides(self):
        self.enable('ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter')
        apart, together = self.group('anti-affinity'), self.group('affinity')
        for group in (apart, together):
            self.assertEqual({'host1': [FITS], 'host2': [FITS]},
                             self.of_flavor({'group': group}))
            self.server_on('host1', group=group)
        self.assert_refused(
            self.of_flavor({'group': apart}), 'ServerGroupAntiAffinityFilter',
            'as many servers of its group as may be together are there', ('host1',))
        self.assert_refused(
            self.of_flavor({'group': together}), 'ServerGroupAffinityFilter',
            'the servers of its group are elsewhere', ('host2',))

    def test_a_server_that_found_no_host_knows_its_group(self):
        self.enable('ServerGroupAntiAffinityFilter')
        group = self.group('anti-affinity')
        for host in ('host1', 'host2'):
            self.server_on(host, group=group)
        refused = self.boot(self.make_flavor(10, 1), state='ERROR', hints={'group': group})
        question = collect.of_server(context.get_admin_context(), refused['id'])
        self.assert_refused(self.told(question), 'ServerGroupAntiAffinityFilter',
                            'as many servers of its group as may be together are there')

    def test_the_host_that_was_named_counts_until_the_server_has_been_on_it(self):
        there = self.server_on('host1')
        self.boot(self.make_flavor(80, 4), az='nova:host2')
        self._run_periodics()
        refused = self.boot(self.make_flavor(20, 3), state='ERROR', az='nova:host2')
        self.enable('IsolatedHostsFilter', isolated_hosts=['host2'])
        told = self.told(collect.of_server(context.get_admin_context(), refused['id']))
        self.assertEqual(['Only host2 is asked for.'], told['host1'])
        # Nova asks no filter about it.
        self.assertNotIn('IsolatedHostsFilter', ' '.join(told['host2']))
        self.assertIn('0 of 4 have that much left', told['host2'][0])
        self.enable()
        self.assertEqual({'host1': [FITS], 'host2': [FITS]}, self.told(
            collect.of_server(context.get_admin_context(), there['id'])))

    def test_a_group_and_the_operators_limit_end_what_fits_one_after_the_other(self):
        self.enable('ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter',
                    'NumInstancesFilter', max_instances_per_host=5)
        group = self.group('anti-affinity')
        self.server_on('host1', group=group)
        self._run_periodics()
        self.assertEqual(({'host1': 0, 'host2': 1}, 1), self.capacity({'group': group}))
        self.assertEqual(({'host1': 4, 'host2': 5}, 9), self.capacity({}))
        self.assertEqual(({'host1': 4, 'host2': 5}, 5),
                         self.capacity({'group': self.group('affinity')}))

    def test_other_servers_that_it_is_to_be_with_or_apart_from_decide(self):
        self.enable('SameHostFilter', 'DifferentHostFilter')
        other = self.server_on('host1')['id']
        self.assert_refused(
            self.of_flavor({'same_host': other}), 'SameHostFilter',
            'the servers that it is to be with are elsewhere', ('host2',))
        self.assert_refused(
            self.of_flavor({'different_host': [other]}), 'DifferentHostFilter',
            'a server that it is to be apart from is there', ('host1',))

    def test_devices_and_capabilities_that_hosts_lack_are_told(self):
        self.enable('ComputeCapabilitiesFilter', 'PciPassthroughFilter')
        self.flags(alias=[ALIAS], group='pci')
        self.assert_refused(
            self.of_flavor(capabilities__hypervisor_type='xen'), 'ComputeCapabilitiesFilter',
            "it lacks capabilities that the flavor's extra specs ask for")
        self.assert_refused(
            self.of_flavor(pci_passthrough__alias='gpu:1'), 'PciPassthroughFilter',
            'it has not left the PCI devices that are asked for')

    def test_numa_nodes_that_hosts_lack_are_told(self):
        self.enable('NUMATopologyFilter')
        self.assert_refused(
            self.of(self._create_flavor(vcpu=2, extra_spec={'hw:numa_nodes': '2'})),
            'NUMATopologyFilter',
            'its NUMA nodes have not left what is asked for')

    def test_what_the_operator_limits_is_told(self):
        self.enable('NumInstancesFilter', 'IsolatedHostsFilter', max_instances_per_host=1,
                    isolated_hosts=['host2'])
        self.server_on('host1')
        self._run_periodics()
        told = self.of_flavor()
        self.assertEqual(
            ["Nova's NumInstancesFilter refuses the host: it has as many servers as it may "
             'have.'], told['host1'])
        self.assertEqual(
            ["Nova's IsolatedHostsFilter refuses the host: only isolated images go to "
             'isolated hosts.'], told['host2'])

    def test_an_operators_own_filters_are_asked_too(self):
        with mock.patch('nova_rt.explain.nova_filters._enabled',
                        return_value=[Broken(), Whimsical()]):
            self.assertEqual(['The filter Whimsical refuses the host.'],
                             self.of_flavor()['host1'])

    def test_a_flavor_that_nova_refuses_by_itself_is_told_what_is_left(self):
        self.enable('PciPassthroughFilter')
        self.assertEqual([FITS], self.of_flavor(pci_passthrough__alias='none:1')['host1'])
