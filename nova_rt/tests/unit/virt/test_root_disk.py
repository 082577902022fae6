# SPDX-License-Identifier: Apache-2.0
from unittest import mock

from nova import exception
from nova import objects
from nova.virt.libvirt import driver as nova_driver
from oslo_utils.fixture import uuidsentinel as uuids
import pytest

from nova_rt.virt import driver
from nova_rt.virt import root_disk

objects.register_all()
CONF = nova_driver.CONF


@pytest.fixture
def server():
    return objects.Instance(uuid=uuids.server)


@pytest.fixture(autouse=True)
def options(tmp_path):
    CONF.set_override('instances_path', str(tmp_path))
    CONF.set_override('use_cow_images', False)
    CONF.set_override('images_type', 'raw', group='libvirt')
    CONF.set_override('virt_type', 'lxc', group='libvirt')
    yield
    CONF.clear_override('instances_path')
    CONF.clear_override('use_cow_images')
    CONF.clear_override('images_type', group='libvirt')
    CONF.clear_override('virt_type', group='libvirt')


@pytest.fixture
def disk(tmp_path):
    path = tmp_path / uuids.server / 'disk'
    path.parent.mkdir()
    with path.open('wb') as file:
        file.truncate(1 << 20)
    return path


@pytest.fixture
def container_driver(monkeypatch):
    """Our driver over Nova's, which finds no disk in a container's domain."""
    nova = nova_driver.LibvirtDriver
    monkeypatch.setattr(nova, '_get_instance_disk_info', lambda *_: [])
    monkeypatch.setattr(nova, '_is_path_shared_with', lambda *_: True)
    for without_libvirt in ('power_off', 'unplug_vifs'):
        monkeypatch.setattr(nova, without_libvirt, lambda *_: None)
    ours = driver.RTLibvirtDriver.__new__(driver.RTLibvirtDriver)
    ours.job_tracker = mock.Mock()
    return ours


def test_nova_copies_the_disk_of_a_container_with_what_was_written(
        container_driver, server, disk):
    disk.write_bytes(b'written by the container')
    flavor = objects.Flavor(root_gb=1, ephemeral_gb=0)
    server.flavor = flavor
    container_driver.migrate_disk_and_power_off(
        None, server, 'here', flavor, [], {})
    left = disk.parent.with_name(f'{disk.parent.name}_resize') / 'disk'
    assert left.read_bytes() == disk.read_bytes() == b'written by the container'
    assert not left.samefile(disk)


def test_the_sizes_of_a_containers_disk_are_listed(
        container_driver, server, disk):
    (info,) = container_driver._get_instance_disk_info(server, {})
    assert (info['path'], info['virt_disk_size']) == (str(disk), 1 << 20)
    assert info['over_committed_disk_size'] == (1 << 20) - info['disk_size']


def test_a_container_whose_disk_is_missing_is_not_moved(server):
    with pytest.raises(exception.InstanceFaultRollback) as refusal:
        root_disk.check_movable(server)
    assert 'is missing' in str(refusal.value.inner_exception)


@pytest.mark.parametrize(('option', 'value', 'group'), [
    ('use_cow_images', True, None), ('images_type', 'qcow2', 'libvirt')])
def test_a_disk_that_is_no_raw_file_is_not_moved(
        disk, server, option, value, group):
    CONF.set_override(option, value, group=group)
    with pytest.raises(exception.InstanceFaultRollback) as refusal:
        root_disk.check_movable(server)
    assert 'only as a raw file' in str(refusal.value.inner_exception)
