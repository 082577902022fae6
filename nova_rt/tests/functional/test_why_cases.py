# SPDX-License-Identifier: Apache-2.0
"""The true reason is told, and no other, for servers that Nova really refuses.

Each case asks Nova for a server, which it must refuse, and then why. The cases of one test
share a cloud.
"""

import contextlib
import copy
import time

from nova import context
from nova import objects
import nova.conf
from nova.scheduler import filters
from nova.tests.functional.api import client
import pytest

from nova_rt import criticality
from nova_rt import shortfalls
from nova_rt.explain import collect
from nova_rt.explain import quotas
from nova_rt.instance import eviction
from nova_rt.instance import flavors
from nova_rt.testing import cloud
from nova_rt.view import hosts

CONF = nova.conf.CONF
CAP = 95 * (1 << 20) // 100
MACHINES = 'trait:CUSTOM_RT_VIRTUAL_MACHINES'
EVERYTHING = 1 << 20


class Never(filters.BaseHostFilter):
    """An operator's own filter, which lets nothing pass."""

    def host_passes(self, host_state, spec_obj):
        return False


class WhyCase(cloud.CloudTestCase):
    """A cloud with host1 of four pCPUs, and what else a test starts.

    :cvar enabled: Nova's filters besides the usual
    """

    enabled: tuple[str, ...] = ()

    def start_service(self, name, *args, **kwargs):
        """Configure the scheduler before it starts."""
        if name == 'scheduler':
            self.flags(enabled_filters=['ComputeFilter', *self.enabled, 'RTShareFilter'],
                       group='filter_scheduler')
        return super().start_service(name, *args, **kwargs)

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.start('host1')

    def flavor(self, percent=10, vcpus=1, **more):
        return self.make_flavor(percent, vcpus, **more)

    def refused(self, what, sentence, flavor=None, **server):
        """Hold that a server is refused, and that this alone is why.

        :param what: one or more words
        """
        asked = self.boot(flavor or self.flavor(), state='ERROR', **server)
        self.tells(collect.of_server(context.get_admin_context(), asked['id']), what, sentence)
        self.api.delete_server(asked['id'])
        self._wait_until_deleted(asked)

    def tells(self, question, what, sentence):
        told = [each for each in shortfalls.explain(
            question.hosts(context.get_admin_context()), question.request)
            if each.host in ('', 'host1')]
        said = {each.what for each in told} - {'nearest'}
        self.assertEqual({what} if isinstance(what, str) else set(what), said, told)
        self.assertIn(sentence, ' '.join(each.sentence for each in told))

    def fits(self, flavor, **server):
        """Hold that what fits is not called refused."""
        made = self.boot(flavor, **server)
        self.tells(collect.of_server(context.get_admin_context(), made['id']), '',
                   'The server fits now.')
        return made


class TestReservations(WhyCase):

    def test_what_the_pcpus_lack(self):
        holder = self.boot(self.flavor(60, 4))
        # 35% are left on each of four.
        self.refused({'', 'pCPU 0-3'}, '0 of 4 have that much left', self.flavor(40, 1))
        self.refused({'', 'pCPU 0-3', 'CUSTOM_RT_SHARE'}, 'Placement has too little left',
                     self.flavor(40, 4))
        self.refused({'', 'CUSTOM_RT_SHARE'}, '5 distinct pCPUs are needed', self.flavor(35, 5))
        self.refused({''}, '5 distinct pCPUs are needed', self.flavor(10, 5))
        half = self.boot(self.flavor(30, 2))
        self.refused({'', 'pCPU 0-1'}, '2 of 4 have that much left', self.flavor(20, 3))
        self.refused({'', 'pCPU 0-1'}, '2 of 4 have that much left', self.flavor(10, 3),
                     hints={'cpu.rt_runtime_us': '20000'})
        self.refused({'', 'pCPU 0-1', 'pCPU 2-3'}, '0 of 4 have', self.flavor(30, 1),
                     hints={'cpu.rt_period_us': '50000'})
        for server in (holder, half):
            self.api.delete_server(server['id'])
            self._wait_until_deleted(server)
        self.fits(self.flavor(40, 4))

    def test_what_the_host_offers(self):
        self.start('host1', (CAP // 2, CAP // 2, 0, 0))
        self.refused({'', 'pCPU 0-1'}, 'needed on each of 1 pCPU(s)', self.flavor(60, 1))
        self.refused({''}, '3 distinct pCPUs are needed', self.flavor(10, 3))
        self.start('host1', (0,) * 4)
        self.refused('', 'The host offers no CPU reservations.')

    def test_the_criticality(self):
        CONF.set_override('criticalities', ['A', 'B'], group='rt')
        self.addCleanup(CONF.clear_override, 'criticalities', group='rt')
        self.start('host1')
        critical = self.flavor(**{criticality.EXTRA_SPEC: 'C'})
        self.refused('criticality', 'takes servers of criticality A and B only', critical)
        self.fits(critical, hints={criticality.NAME: 'B'})

    def test_a_host_that_is_closed(self):
        compute = self.computes['host1']
        here = eviction.digest(compute.manager.rt.compute_nodes['host1'].uuid)
        there = self.boot(self.flavor())
        compute.manager.rt.close(
            objects.Instance.get_by_uuid(context.get_admin_context(), there['id']),
            eviction.Mark('', int(time.time()) + 600, here, '', 0))
        self.refused('closed', 'takes no new servers until')
        seen, _ = hosts.one(context.get_admin_context(), 'host1')
        self.assertIn('takes no new servers until', seen.trouble)

    def test_one_of_many(self):
        flavor = self.flavor(60, 2)
        body = self._build_server(flavor_id=flavor, networks='none')
        asked = self.api.post_server({'server': {**body, 'min_count': 3, 'max_count': 3}})
        asked = self._wait_for_state_change(asked, 'ERROR')
        self.tells(collect.of_server(context.get_admin_context(), asked['id']),
                   {'', 'together'}, 'One request asked for 3 such servers, and 2 fit.')


class TestPlacement(WhyCase):

    def test_resources_besides_the_share(self):
        self.refused('MEMORY_MB', 'Placement has too little left',
                     self.flavor(memory_mb=EVERYTHING))
        self.refused('MEMORY_MB', 'Placement has too little left',
                     self._create_flavor(vcpu=1, memory_mb=EVERYTHING, disk=1))
        self.refused('DISK_GB', 'Placement has too little left',
                     self._create_flavor(vcpu=1, memory_mb=64, disk=EVERYTHING))
        self.refused({'DISK_GB', 'MEMORY_MB'}, 'Placement has too little left',
                     self._create_flavor(vcpu=1, memory_mb=EVERYTHING, disk=EVERYTHING))

    def test_vcpus_run_out_before_bandwidth(self):
        """As the cpu_allocation_ratio is too low for small reservations."""
        # Of the fake driver's 1000.
        self.flags(cpu_allocation_ratio=0.006)
        self.start('host1', (CAP,) * 4)
        self.boot(self.flavor(1, 4))
        self.refused('VCPU', 'Placement has too little left', self.flavor(1, 3))
        self.fits(self.flavor(1, 1))

    def test_more_than_placement_allocates_at_once(self):
        """As of a host that has fewer CPUs than its cpu_allocation_ratio lets run."""
        for name, unit, flavor, sentence in (
                ('VCPU', {'max_unit': 2}, self.flavor(1, 3),
                 'Placement allocates at most 2 at once (max_unit).'),
                ('MEMORY_MB', {'min_unit': 65}, self.flavor(1, 1),
                 'Placement allocates at least 65 at once (min_unit).'),
                ('MEMORY_MB', {'step_size': 60}, self.flavor(1, 1),
                 'Placement allocates multiples of 60 only (step_size).')):
            with self.inventory(name, unit):
                self.refused(name, sentence, flavor)
            self.fits(flavor)

    @contextlib.contextmanager
    def inventory(self, name, changes):
        """Change what Placement has of a resource class of host1."""
        path = f'/resource_providers/{self._get_provider_uuid_by_host("host1")}/inventories'
        before = self.placement.get(path).body
        after = copy.deepcopy(before)
        after['inventories'][name].update(changes)
        self.placement.put(path, after)
        yield
        before['resource_provider_generation'] = self.placement.get(path).body[
            'resource_provider_generation']
        self.placement.put(path, before)

    def test_traits(self):
        provider = self._get_provider_uuid_by_host('host1')
        self._set_provider_traits(provider, [
            *self._get_provider_traits(provider), 'HW_CPU_X86_SGX'])
        self.refused('trait', 'lacks the trait HW_CPU_X86_AVX2', self.flavor(
            **{'trait:HW_CPU_X86_AVX2': 'required'}))
        self.refused('trait', 'has the trait HW_CPU_X86_SGX', self.flavor(
            **{'trait:HW_CPU_X86_SGX': 'forbidden'}))
        self.refused('trait', 'lacks the trait HW_CPU_X86_AVX2', self.flavor(
            **{'trait:HW_CPU_X86_AVX2': 'required', 'trait:HW_CPU_X86_SGX': 'forbidden'}))
        self.refused('kind', 'The host runs containers, but', self.flavor(
            **{MACHINES: 'required'}))


class TestHosts(WhyCase):

    enabled = ('AggregateInstanceExtraSpecsFilter', 'AggregateMultiTenancyIsolation',
               'AggregateTypeAffinityFilter')

    def service(self, **state):
        """Change a compute service of host1."""
        number = self.admin_api.get_services(host='host1', binary='nova-compute')[0]['id']
        if 'forced_down' in state:
            self.admin_api.put_service_force_down(number, state['forced_down'])
        else:
            self.admin_api.put_service(number, state)

    def test_a_host_that_nova_does_not_use(self):
        self.service(status='disabled', disabled_reason='new disks')
        self.refused('', 'The compute service is disabled (new disks).')
        self.service(status='enabled')
        self.service(forced_down=True)
        self.refused('', 'The compute service is down.')
        self.service(forced_down=False)
        self.fits(self.flavor())

    def test_zones_and_aggregates(self):
        made = self.admin_api.post_aggregate({'aggregate': {'name': 'some'}})['id']
        self.admin_api.add_host_to_aggregate(made, 'host1')
        spare = self.admin_api.post_aggregate(
            {'aggregate': {'name': 'spare', 'availability_zone': 'other'}})['id']
        self.start('host2')
        self.admin_api.add_host_to_aggregate(spare, 'host2')
        self.start('host2', (0,) * 4)
        self.refused('zone', 'in the availability zone nova, but other', az='other')
        for metadata, meaning, more in (
                ({'size': 'large'}, 'its aggregates lack',
                 {'aggregate_instance_extra_specs:size': 'small'}),
                ({'size': None, 'filter_tenant_id': 'somebody'},
                 'its aggregates are for other projects', {}),
                ({'filter_tenant_id': None, 'instance_type': 'others'},
                 'its aggregates are for other flavors', {})):
            self.admin_api.post_aggregate_action(
                made, {'set_metadata': {'metadata': metadata}})
            self.refused('aggregate', meaning, self.flavor(**more))


class TestFilters(WhyCase):

    enabled = ('ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter', 'SameHostFilter',
               'DifferentHostFilter', 'ComputeCapabilitiesFilter', 'PciPassthroughFilter',
               'NUMATopologyFilter', 'NumInstancesFilter', 'IsolatedHostsFilter',
               'IoOpsFilter')

    def test_where_other_servers_are(self):
        other = self.boot(self.flavor())['id']
        apart = self.api.post_server_groups(
            {'name': 'apart', 'policy': 'anti-affinity'})['id']
        self.boot(self.flavor(), hints={'group': apart})
        self.refused('filter', 'as many servers of its group', hints={'group': apart})
        self.refused('filter', 'apart from is there', hints={'different_host': [other]})
        self.start('host2')
        together = self.api.post_server_groups(
            {'name': 'together', 'policy': 'affinity'})['id']
        self.boot(self.flavor(), az='nova:host2', hints={'group': together})
        elsewhere = self.boot(self.flavor(), az='nova:host2')['id']
        self.force_down('host2', True)
        self.refused('filter', 'the servers of its group are elsewhere',
                     hints={'group': together})
        self.refused('filter', 'to be with are elsewhere', hints={'same_host': elsewhere})

    def test_what_a_group_lets_in_of_one_request(self):
        self.start('host2')
        apart = self.api.post_server_groups(
            {'name': 'apart', 'policy': 'anti-affinity'})['id']
        self.refused_together(3, self.flavor(), apart,
                              'One request asked for 3 such servers, and 2 fit.')
        together = self.api.post_server_groups(
            {'name': 'together', 'policy': 'affinity'})['id']
        # One fits each host.
        self.refused_together(2, self.flavor(60, 4), together,
                              'and 1 fit, as all have to be on one host.')

    def refused_together(self, count, flavor, group, sentence):
        body = self._build_server(flavor_id=flavor, networks='none')
        asked = self._wait_for_state_change(self.api.post_server({
            'server': {**body, 'min_count': count, 'max_count': count},
            'os:scheduler_hints': {'group': group}}), 'ERROR')
        self.tells(collect.of_server(context.get_admin_context(), asked['id']),
                   {'', 'together'}, sentence)

    def test_another_host_that_is_asked_for(self):
        self.start('host2', (0,) * 4)
        self.refused('host', 'Only host2 is asked for.', az='nova:host2')

    def test_what_hosts_lack(self):
        self.flags(alias=[
            '{"vendor_id": "10de", "product_id": "1eb8", "name": "gpu"}'], group='pci')
        self.refused('filter', 'it lacks capabilities', self.flavor(
            **{'capabilities:hypervisor_type': 'xen'}))
        self.refused('filter', 'it has not left the PCI devices', self.flavor(
            **{'pci_passthrough:alias': 'gpu:1'}))
        self.refused('filter', 'its NUMA nodes have not left', self._create_flavor(
            vcpu=2, memory_mb=64, disk=1, extra_spec={'hw:numa_nodes': '2'}))

    def test_what_the_operator_limits(self):
        group = 'filter_scheduler'
        self.boot(self.flavor())
        self._run_periodics()
        self.flags(max_instances_per_host=1, group=group)
        self.refused('filter', 'it has as many servers as it may have')
        self.flags(max_instances_per_host=50, max_io_ops_per_host=0, group=group)
        self.refused('filter', 'it is busy')
        self.flags(max_io_ops_per_host=8, isolated_hosts=['host1'], group=group)
        self.refused('filter', 'only isolated images go to isolated hosts')
        self.flags(isolated_hosts=[], group=group)
        self.fits(self.flavor())


class TestOperatorsOwnFilter(WhyCase):

    enabled = ('Never',)

    def start_service(self, name, *args, **kwargs):
        if name == 'scheduler':
            self.flags(available_filters=[
                *CONF.filter_scheduler.available_filters, f'{__name__}.Never'],
                group='filter_scheduler')
        return super().start_service(name, *args, **kwargs)

    def test_it_is_named(self):
        self.refused('filter', 'The filter Never refuses the host.')


class TestQuotas(WhyCase):

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.DbQuotaDriver', group='quota')

    def over_quota(self, sentence, **limits):
        """Hold that nova-api refuses a server, and that its quota is told as the reason."""
        self.flags(**{'instances': -1, 'cores': -1, 'ram': -1, **limits}, group='quota')
        flavor = self.flavor(10, 2)
        with pytest.raises(client.OpenStackApiException, match='Quota exceeded'):
            self.boot(flavor)
        asker = context.RequestContext(self.api.auth_user, self.api.project_id, is_admin=True)
        asked = objects.Flavor.get_by_flavor_id(asker, flavor)
        (told,) = quotas.shortfalls_of(quotas.of(asker, asked, flavors.reservation_of(asked)))
        self.assertEqual(('', 'quota', sentence), (told.host, told.what, told.sentence))

    def test_quotas_of_the_project_and_the_user(self):
        self.over_quota('The project may have 0 servers, and has 0.', instances=0)
        self.over_quota('The project may have 1 vCPUs, and has 0.', cores=1)
        self.over_quota('The project may have 63 MiB of RAM, and has 0.', ram=63)
        self.admin_api.api_put(
            f'/os-quota-sets/{self.api.project_id}?user_id={self.api.auth_user}',
            {'quota_set': {'cores': 1}})
        self.over_quota('The user may have 1 vCPUs, and has 0.')
