# SPDX-License-Identifier: Apache-2.0
from unittest import mock

from nova import objects
from nova.network import model
from nova.network import os_vif_util
from nova.virt.libvirt import vif as libvirt_vif
import os_vif
import pytest

from nova_rt.virt import vif

CONF = libvirt_vif.CONF
# What Neutron 2026.2 says where Open vSwitch uses the kernel's datapath.
DETAILS = {'ovs_create_tap': True, 'datapath_type': 'system',
           'port_filter': True}


@pytest.fixture(autouse=True)
def _host_of_containers():
    objects.register_all()
    os_vif.initialize()
    CONF.set_override('virt_type', 'lxc', group='libvirt')
    yield
    CONF.clear_override('virt_type', group='libvirt')


@pytest.fixture
def port():
    network = model.Network(id='n', bridge='br-int', subnets=[], mtu=1500)
    return model.VIF(
        id='12345678-9abc-def0-1234-56789abcdef0', address='fa:16:3e:00:00:01',
        network=network, type=model.VIF_TYPE_OVS, details=DETAILS,
        devname='tap12345678-9a')


@pytest.fixture
def instance():
    flavor = objects.Flavor(extra_specs={}, vcpus=1)
    return objects.Instance(uuid='u', display_name='i', id=1, project_id='p',
                            flavor=flavor, system_metadata={})


def test_neutron_may_ask_for_a_device_that_a_container_cannot_have(port):
    if 'create_tap' not in os_vif_util.objects.vif.VIFPortProfileOpenVSwitch(
            ).fields:
        pytest.skip('this os-vif makes no devices')
    assert os_vif_util.nova_to_osvif_vif(port).port_profile.create_tap


def test_the_device_of_a_container_is_left_to_libvirt(port, instance):
    with mock.patch('os_vif.plug') as plug:
        vif.ContainerVIFDriver(None).plug(instance, port)
    (plugged, _), _ = plug.call_args
    assert not plugged.port_profile.obj_to_primitive()[
        'versioned_object.data'].get('create_tap')


def test_the_domain_of_a_container_names_the_bridge(port, instance):
    config = vif.ContainerVIFDriver(None).get_config(
        instance, port, objects.ImageMeta.from_dict({}), instance.flavor,
        'lxc')
    assert config.net_type == 'bridge'
    assert config.source_dev == 'br-int'
    assert config.target_dev == 'tap12345678-9a'


def test_what_nova_knows_of_a_port_stays_as_it_is(port, instance):
    with mock.patch('os_vif.plug'):
        vif.ContainerVIFDriver(None).plug(instance, port)
    assert port['details'] == DETAILS
