# SPDX-License-Identifier: Apache-2.0
"""Hosts for containers and hosts for virtual machines, side by side in one cloud."""

import argparse

from nova import context as nova_context
from nova import objects

from nova_rt import kinds
from nova_rt import shares
from nova_rt.cmd import manage_why
from nova_rt.testing import cloud

CONTAINERS, MACHINES = (kind.trait for kind in kinds.Kind)


class TestKinds(cloud.CloudTestCase):
    """Two hosts of each kind: c1 and c2 run containers, m1 and m2 virtual machines."""

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        for host in ('c1', 'c2'):
            self.start(host)
        self.flags(compute_driver='fake.FakeMachineDriver')
        for host in ('m1', 'm2'):
            self.start(host)

    def host_of(self, server):
        return self.admin_api.get_server(server['id'])['OS-EXT-SRV-ATTR:host']

    def image(self, **properties):
        image = dict(self.glance.auto_disk_config_enabled_image)
        del image['id']
        image['properties'] = {**image['properties'], **properties}
        return self.glance.create(nova_context.get_admin_context(), image)['id']

    def assert_logged(self, sentence):
        """Assert what is logged where Nova records no fault for a user."""
        self.eventually(lambda: self.assertIn(sentence, self.stdlog.logger.output))

    def why(self, server):
        columns, rows = manage_why.Why(None, None).take_action(
            argparse.Namespace(server=server['id']))
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        return {row['host']: row for row in named}

    def hosts_chosen(self, count=4, image=None, **extra_specs):
        """Return the kinds of the hosts of that many servers of half a host each."""
        flavor = self.make_flavor(45, 4, **extra_specs)
        return {self.host_of(self.boot(flavor, **({'image_uuid': image} if image else {})))[0]
                for _ in range(count)}

    def test_each_host_has_the_trait_of_its_kind(self):
        for host, has, lacks in (('c1', CONTAINERS, MACHINES), ('m1', MACHINES, CONTAINERS)):
            traits = self._get_provider_traits(self._get_provider_uuid_by_host(host))
            self.assertIn(shares.TRAIT, traits)
            self.assertIn(has, traits)
            self.assertNotIn(lacks, traits)

    def test_a_flavors_trait_chooses(self):
        for trait, kind in ((CONTAINERS, 'c'), (MACHINES, 'm')):
            self.assertEqual({kind}, self.hosts_chosen(2, **{f'trait:{trait}': 'required'}))

    def test_a_flavor_with_a_policy_for_init_lands_on_hosts_for_containers_only(self):
        self.assertEqual({'c'}, self.hosts_chosen(**{'hw:cpu.rt_policy': 'fifo'}))
        full = self.boot(self.make_flavor(45, 4, **{'hw:cpu.rt_policy': 'rr'}), 'ERROR',
                         hints={'cpu.rt_runtime_us': 10_000})
        self.assertIn('No room on c', full['fault']['message'])

    def test_an_image_chooses_by_its_hypervisor_or_its_trait(self):
        for properties, kind in (({'img_hv_type': 'lxc'}, 'c'), ({'hypervisor_type': 'qemu'}, 'm'),
                                 ({f'trait:{MACHINES}': 'required'}, 'm')):
            self.assertEqual({kind}, self.hosts_chosen(1, self.image(**properties)))

    def test_without_a_choice_a_server_may_be_either(self):
        self.assertEqual({'c', 'm'}, self.hosts_chosen(8))

    def test_a_full_kind_is_refused_though_the_other_has_room_and_why_says_so(self):
        flavor = self.make_flavor(60, 4, **{f'trait:{MACHINES}': 'required'})
        for _ in range(2):
            self.boot(flavor)
        refused = self.boot(flavor, 'ERROR')
        self.assertIn('No room on m', refused['fault']['message'])
        why = self.why(refused)
        for host in ('c1', 'c2'):
            self.assertEqual(
                ('kind', 'virtual machine', 'container',
                 'The host runs containers, but the flavor has '
                 f'trait:{MACHINES}=required.'),
                tuple(why[host][column] for column in ('what', 'needed', 'left', 'why')))
        self.assertNotEqual('kind', why['m1']['what'])

    def test_a_server_is_migrated_to_its_own_kind_only(self):
        flavor = self.make_flavor(45, 4)
        servers = [self.boot(flavor) for _ in range(4)]
        for server in servers[:2]:
            kind = self.host_of(server)[0]
            self._migrate_server(server)
            self._confirm_resize(server)
            self.assertEqual(kind, self.host_of(server)[0])

    def test_a_shelved_server_comes_back_as_the_kind_that_its_flavor_chooses(self):
        server = self.boot(self.make_flavor(45, 4, **{f'trait:{MACHINES}': 'required'}),
                           az='nova:m1')
        self._shelve_server(server)
        self.admin_api.put_service(
            self.admin_api.get_services(host='m1', binary='nova-compute')[0]['id'],
            {'status': 'disabled'})
        self._unshelve_server(server)
        self.assertEqual('m2', self.host_of(server))

    def test_a_server_whose_kind_has_no_other_host_stays_and_why_says_so(self):
        server = self.boot(self.make_flavor(45, 4), az='nova:m1')
        self.admin_api.put_service(
            self.admin_api.get_services(host='m2', binary='nova-compute')[0]['id'],
            {'status': 'disabled'})
        self.admin_api.api_post(f'/servers/{server["id"]}/action', {'migrate': None},
                                check_response_status=[400, 202])
        self.eventually(lambda: self.assertEqual(
            'ACTIVE', self.admin_api.get_server(server['id'])['status']))
        self.assertEqual('m1', self.host_of(server))
        self.assertEqual('The host runs containers, but the server is a virtual machine.',
                         self.why(server)['c1']['why'])

    def test_a_virtual_machine_is_not_resized_to_a_flavor_for_containers(self):
        server = self.boot(self.make_flavor(45, 2), az='nova:m1')
        self.api.post_server_action(server['id'], {'resize': {'flavorRef': self.make_flavor(
            50, 2, **{f'trait:{CONTAINERS}': 'required'})}}, check_response_status=[400, 202])
        self.assert_logged('The server is a virtual machine, but the flavor has')
        self.assertEqual('m1', self.host_of(server))

    def test_a_virtual_machine_is_not_rebuilt_with_an_image_of_a_container(self):
        server = self.boot(self.make_flavor(45, 2), az='nova:m1')
        self.api.post_server_action(server['id'], {
            'rebuild': {'imageRef': self.image(img_hv_type='lxc')}})
        self.assert_logged('m1 does not run containers')

    def test_a_host_that_stops_offering_reservations_loses_its_kind(self):
        self.start('m1', (0,) * 4)
        traits = self._get_provider_traits(self._get_provider_uuid_by_host('m1'))
        self.assertFalse({shares.TRAIT, CONTAINERS, MACHINES} & set(traits))
        self.assertEqual({'m'}, self.hosts_chosen(1, **{f'trait:{MACHINES}': 'required'}))


class TestOneKind(cloud.CloudTestCase):

    def test_a_kind_that_no_host_has_ever_had_is_named(self):
        self.start('c1')
        refused = self.boot(self.make_flavor(10, 1, **{f'trait:{MACHINES}': 'required'}), 'ERROR')
        self.assertIn('There is no host that offers CPU reservations to virtual machines, but '
                      f'the flavor has trait:{MACHINES}=required.', refused['fault']['message'])
        spec = objects.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), refused['id'])
        self.assertEqual('required', spec.flavor.extra_specs[f'trait:{MACHINES}'])
