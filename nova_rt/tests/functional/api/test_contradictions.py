# SPDX-License-Identifier: Apache-2.0
"""What contradicts a reservation is refused by the API, wherever the two meet."""

from unittest import mock

from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception
from nova import objects

from nova_rt.testing import cases
from nova_rt.testing.cases import PERIOD
from nova_rt.testing.cases import RUNTIME

RESERVED = {RUNTIME: '100000', PERIOD: '200000'}
DEDICATED = {'hw:cpu_policy': 'dedicated'}
POLICY = {'hw:cpu.rt_policy': 'fifo'}


class ContradictionTestCase(cases.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.api.microversion = '2.100'

    def image(self, **properties):
        """Return the id of an image with these properties."""
        image = dict(self.glance.auto_disk_config_enabled_image)
        del image['id']
        image['properties'] = {**image['properties'], **properties}
        return self.glance.create(nova_context.get_admin_context(), image)['id']


class NewServerTest(ContradictionTestCase):

    def test_a_flavor_that_gives_whole_pcpus_or_a_numa_topology_is_refused(self):
        for name, value in (
                ('hw:cpu_policy', 'dedicated'), ('hw:cpu_policy', 'mixed'),
                ('hw:cpu_realtime', 'yes'), ('hw:numa_nodes', '1'),
                ('hw:mem_page_size', 'large'), ('resources:PCPU', '1'), ('hw:pmem', 'x')):
            self.assert_refused(
                self.create_server(cases.make_flavor({**RESERVED, name: value})),
                f"{name} '{value}' contradicts a reservation", 'remove it from the flavor')

    def test_it_is_refused_with_a_reservation_of_hints_too(self):
        self.assert_refused(
            self.create_server(cases.make_flavor(DEDICATED), {
                'cpu.rt_runtime_us': 5000, 'cpu.rt_period_us': 10000}), 'hw:cpu_policy')

    def test_without_a_reservation_it_is_novas(self):
        self.assert_accepted(self.create_server(cases.make_flavor(DEDICATED)))

    def test_what_leaves_the_pcpus_open_is_accepted(self):
        for name, value in (
                ('hw:cpu_policy', 'shared'), ('hw:emulator_threads_policy', 'share'),
                ('hw:cpu_realtime', 'no'), ('hw:cpu_sockets', '1')):
            self.assert_accepted(
                self.create_server(cases.make_flavor({**RESERVED, name: value})))

    def test_an_image_of_the_same_meaning_is_refused(self):
        flavor = cases.make_flavor(RESERVED)
        for name, value in (('hw_cpu_policy', 'dedicated'), ('hw_numa_nodes', '1'),
                            ('hw_mem_page_size', 'large')):
            self.assert_refused(
                self.create_server(flavor, imageRef=self.image(**{name: value})),
                name, 'use an image without')
        self.assert_accepted(
            self.create_server(flavor, imageRef=self.image(hw_cpu_policy='shared')))

    def test_the_image_of_a_new_root_volume_is_checked(self):
        image = self.image(hw_cpu_policy='dedicated')
        self.assert_refused(self.create_server(
            cases.make_flavor(RESERVED), imageRef='', block_device_mapping_v2=[{
                'boot_index': 0, 'uuid': image, 'source_type': 'image',
                'destination_type': 'volume', 'volume_size': 1}]), 'hw_cpu_policy')

    def test_an_image_that_glance_does_not_have_is_for_nova_to_refuse(self):
        answer = self.create_server(cases.make_flavor(RESERVED),
                                    imageRef='11111111-1111-4111-8111-111111111111')
        self.assertEqual(400, answer.status_code)
        self.assertIn('image', answer.text)

    def test_glance_is_asked_only_for_servers_with_a_reservation(self):
        with mock.patch('nova_rt.api.images.properties', return_value={}) as asked:
            self.assert_accepted(self.create_server(cases.make_flavor()))
            asked.assert_not_called()
            self.assert_accepted(self.create_server(cases.make_flavor(RESERVED)))
            asked.assert_called_once()

    def test_a_glance_that_does_not_answer_us_is_left_to_nova(self):
        for failure in (exception.GlanceConnectionFailed(server='x', reason='x'),
                        ks_exc.EndpointNotFound()):
            with mock.patch('nova_rt.api.images.properties', side_effect=failure):
                self.assert_accepted(self.create_server(cases.make_flavor(RESERVED)))

    def test_two_kinds_in_one_request_are_refused(self):
        self.assert_refused(
            self.create_server(cases.make_flavor({**RESERVED, **POLICY}),
                               imageRef=self.image(hypervisor_type='qemu')),
            'hw:cpu.rt_policy, which is for containers', 'which is for virtual machines')
        self.assert_accepted(
            self.create_server(cases.make_flavor({**RESERVED, **POLICY}),
                               imageRef=self.image(img_hv_type='lxc')))


class ExtraSpecsTest(ContradictionTestCase):

    def add(self, flavor, **extra_specs):
        return self.post(f'flavors/{flavor}/os-extra_specs',
                         {'extra_specs': extra_specs}, self.admin_api)

    def test_a_contradiction_is_refused_in_whatever_order_it_is_set(self):
        self.assert_refused(self.add(cases.make_flavor(RESERVED), **DEDICATED), 'hw:cpu_policy')
        self.assert_refused(self.add(cases.make_flavor(DEDICATED), **RESERVED), 'hw:cpu_policy')
        self.assert_refused(self.add(cases.make_flavor(), **RESERVED, **DEDICATED),
                            'hw:cpu_policy')

    def test_a_flavor_for_two_kinds_is_refused(self):
        self.assert_refused(
            self.add(cases.make_flavor({**RESERVED, **POLICY}),
                     **{'trait:CUSTOM_RT_VIRTUAL_MACHINES': 'required'}), 'virtual machines')

    def test_flavors_without_a_reservation_are_novas(self):
        self.assert_accepted(self.add(cases.make_flavor(), **DEDICATED))


class ExistingServerTest(ContradictionTestCase):
    """The server is still being built: Nova itself answers 409 here."""

    def server(self, extra_specs, **more):
        response = self.create_server(cases.make_flavor(extra_specs), **more)
        return response.json()['server']['id']

    def resize(self, server, extra_specs):
        return self.post(f'servers/{server}/action', {
            'resize': {'flavorRef': cases.make_flavor(extra_specs)}})

    def rebuild(self, server, image, api=None):
        return self.post(f'servers/{server}/action', {'rebuild': {'imageRef': image}}, api)

    def test_a_resize_to_a_flavor_that_contradicts_is_refused(self):
        self.assert_refused(self.resize(self.server(RESERVED), {**RESERVED, **DEDICATED}),
                            'hw:cpu_policy')

    def test_a_resize_to_a_reservation_that_the_servers_image_contradicts_is_refused(self):
        server = self.server({**DEDICATED}, imageRef=self.image(hw_cpu_policy='dedicated'))
        self.assert_refused(self.resize(server, RESERVED), 'hw_cpu_policy')

    def test_a_resize_to_a_flavor_for_another_kind_than_the_images_is_refused(self):
        server = self.server(RESERVED, imageRef=self.image(img_hv_type='kvm'))
        self.assert_refused(self.resize(server, {**RESERVED, **POLICY}), 'virtual machines')

    def test_a_rebuild_with_an_image_that_contradicts_is_refused(self):
        server = self.server(RESERVED)
        self.assert_refused(self.rebuild(server, self.image(hw_numa_nodes='1')), 'hw_numa_nodes')
        self.assertEqual(409, self.rebuild(server, self.image()).status_code)

    def test_a_rebuild_without_a_reservation_is_novas(self):
        server = self.server({})
        self.assertEqual(409, self.rebuild(server, self.image(hw_numa_nodes='1')).status_code)

    def test_a_rebuild_of_another_projects_server_says_nothing_of_it(self):
        server = self.server(RESERVED)
        image = self.image(hw_numa_nodes='1')
        self.api.project_id = 'another'
        self.assertNotIn('reservation', self.rebuild(server, image).text)
        spec = objects.RequestSpec.get_by_instance_uuid(
            nova_context.get_admin_context(), server)
        self.assertEqual('100000', spec.flavor.extra_specs[RUNTIME])
