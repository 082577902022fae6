# SPDX-License-Identifier: Apache-2.0
"""Volumes come and go; the vCPUs keep their reservation, and QEMU's other threads get none.

Nova's driver attaches a block device of this machine, as it does one that a back end of
Cinder has connected.
"""

import pathlib
import subprocess

import libvirt
from nova import objects
from nova.virt.libvirt import event as libvirt_event
import pytest

from nova_rt.tests.e2e.machines.test_machines import OTHER
from nova_rt.tests.e2e.machines.test_machines import RESERVED
from nova_rt.virt import cpus

MOUNT_POINT = '/dev/vdb'
# Nova would ask Cinder.
NONE: dict[str, str] = {}

pytestmark = pytest.mark.skipif(len(cpus.online()) < 2, reason='needs two CPUs')


@pytest.fixture
def volume(tmp_path):
    """What Cinder would say of a volume that is a block device of this machine."""
    (tmp_path / 'volume').write_bytes(bytes(1 << 20))
    device = subprocess.run(
        ['losetup', '--find', '--show', str(tmp_path / 'volume')], check=True,
        capture_output=True, text=True).stdout.strip()
    yield {'driver_volume_type': 'local', 'serial': 'volume',
           'data': {'device_path': device, 'access_mode': 'rw'}}
    subprocess.run(['losetup', '--detach', device], check=True)


@pytest.fixture
def web(events, server, options, monkeypatch):
    """A running server that Nova hears libvirt's events of."""
    web = server()
    web.start()
    monkeypatch.setattr(objects.Instance, 'save', lambda instance: None)
    monkeypatch.setattr(web.host, '_build_device_metadata', lambda *args: None)
    listener = libvirt.open(options.libvirt.connection_uri)
    listener.domainEventRegisterAny(
        None, libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED,
        lambda connection, domain, device, opaque: web.host.emit_event(
            libvirt_event.DeviceRemovedEvent(domain.UUIDString(), device)), None)
    yield web
    listener.close()


def attach(web, volume):
    web.host.attach_volume(web.context, volume, web.instance, MOUNT_POINT,
                           disk_bus='virtio', encryption=NONE)


def others(web):
    """Return the policies of QEMU's threads that run no vCPU."""
    kernel = web.host.reservations._scheduler
    tasks = {int(task.name) for task in
             pathlib.Path(f'/proc/{web.threads[0]}/task').iterdir()}
    return {kernel.read(task).policy for task in tasks - {*web.threads}}


def disks(web):
    return [disk.target_dev for disk in web.guest.get_all_disks()]


def test_a_volume_that_is_attached_and_detached_leaves_the_vcpus_their_reservation(
        web, volume, brisk):
    threads = web.threads
    attach(web, volume)
    assert 'vdb' in disks(web)
    assert (web.threads, web.scheduled(), others(web)) == (threads, RESERVED, {OTHER})
    web.host.detach_volume(
        web.context, volume, web.instance, MOUNT_POINT, encryption=NONE)
    assert 'vdb' not in disks(web)
    assert (web.threads, web.scheduled(), others(web)) == (threads, RESERVED, {OTHER})


def test_an_attached_volume_is_there_after_the_next_start_with_the_reservation(
        web, volume):
    attach(web, volume)
    web.xml = web.guest.get_xml_desc(dump_inactive=True)
    web.guest.poweroff()
    web.start()
    assert 'vdb' in disks(web)
    assert (web.scheduled(), others(web)) == (RESERVED, {OTHER})
