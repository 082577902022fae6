# SPDX-License-Identifier: Apache-2.0
"""Nova's driver with ours on it, over a libvirtd of our own; no other service.

NOVA_RT_VIRT_TYPE is Nova's virt_type: qemu unless it says kvm. Guests of KVM have QEMU's
plain CPU.
"""

import contextlib
import os
import threading
import time
from unittest import mock
import uuid

import libvirt
from nova import context as nova_context
from nova import objects
import nova.conf
from nova.conf import neutron
from nova.network import model as network_model
from nova.virt import event as virtevent
import pytest

from nova_rt import conf
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.compute import hooks
from nova_rt.instance import holdings
from nova_rt.testing import rt_sysctl
from nova_rt.tests.e2e.machines import private_libvirt
from nova_rt.virt import driver
from nova_rt.virt import machine_start
from stack import hypervisor
from stack.image import build

CONF = nova.conf.CONF
VIRT_TYPE = os.environ.get('NOVA_RT_VIRT_TYPE', 'qemu')
DOMAIN = """\
<domain type='{type}'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <metadata/>
  <memory unit='MiB'>32</memory>
  <vcpu>{vcpus}</vcpu>
  <resource><partition>/{partition}</partition></resource>
  <os><type arch='x86_64' machine='pc'>hvm</type><boot dev='fd'/></os>
  <features><acpi/><apic/></features>
  <devices>
    <disk type='file' device='floppy'><driver name='qemu' type='raw'/>
      <source file='{disk}'/><target dev='fda' bus='fdc'/><readonly/></disk>
  </devices>
</domain>
"""


@pytest.fixture(scope='session')
def libvirtd(tmp_path_factory):
    """The URI of our libvirtd."""
    reason = private_libvirt.missing()
    if reason:
        pytest.skip(reason)
    with private_libvirt.running(tmp_path_factory.mktemp('libvirt')) as uri:
        yield uri


@pytest.fixture(scope='session')
def events():
    """Connections to libvirt that are opened from now on hear of events."""
    libvirt.virEventRegisterDefaultImpl()
    threading.Thread(target=_run_events, daemon=True).start()


def _run_events():
    while True:
        libvirt.virEventRunDefaultImpl()


@pytest.fixture(scope='session')
def disk(tmp_path_factory):
    """A disk whose machine burns CPU on every vCPU."""
    return private_libvirt.spinning_disk(tmp_path_factory.mktemp('disk'))


@pytest.fixture
def brisk(tmp_path):
    """Skip where a guest would not come far within minutes, or not always.

    A KVM that itself runs in a virtual machine may have to emulate guests, and slowly.
    """
    if VIRT_TYPE == 'kvm':
        disk = build.build_machine(tmp_path, build.run_command)
        if hypervisor.virt_type(disk) != 'kvm':
            pytest.skip('guests of KVM are too slow here')


@contextlib.contextmanager
def options_of(uri, directory):
    """Set Nova's options of a host of virtual machines."""
    objects.register_all()
    conf.register_opts(CONF)
    neutron.register_dynamic_opts(CONF)
    CONF([], project='nova', default_config_files=[])
    for name, value in (('virt_type', VIRT_TYPE), ('connection_uri', uri)):
        CONF.set_override(name, value, group='libvirt')
    CONF.set_override('instances_path', str(directory))
    CONF.set_override('state_path', str(directory))
    yield CONF
    CONF.reset()
    for name in ('virt_type', 'connection_uri'):
        CONF.clear_override(name, group='libvirt')
    CONF.clear_override('instances_path')
    CONF.clear_override('state_path')


@pytest.fixture
def options(libvirtd, tmp_path):
    """Nova's options of the only host."""
    with options_of(libvirtd, tmp_path):
        yield CONF


@pytest.fixture
def host(options):
    """The driver, after it has started; the kernel's own admission is off."""
    hooks.check()
    with rt_sysctl.admission_off():
        started = start_driver()
        yield started
        for domain in started._host.get_connection().listAllDomains():
            end(domain)


def start_driver():
    """Return a driver that has started, as after a restart of nova-rt-compute."""
    started = driver.RTLibvirtDriver(None)
    # It would tell Nova's database.
    started._set_host_enabled = lambda *args, **kwargs: None
    # Its thread would outlive the tests; they send the events that matter.
    started._host._init_events = lambda: None
    started._host._event_lifecycle_callback = lambda *args: None
    started._host.initialize()
    started._parse_migration_flags()
    # No Neutron runs.
    started._network_api = mock.Mock()
    started._network_api.has_port_binding_extension.return_value = False
    started.register_event_listener(lambda event: None)
    started._domains.reconcile()
    return started


def eventually(condition, seconds=20):
    """Hold that something is true before too long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def end(domain):
    """End a domain, whatever its state, and forget it."""
    with contextlib.suppress(Exception):
        domain.destroy()
    domain.undefineFlags(1)  # with its saved memory


class Server:
    """A server of Nova and its virtual machine.

    :param holding: None without a reservation
    :param name: that its first host takes itself for
    """

    def __init__(self, host, disk, holding, vcpus=2, name='host', **extra_specs):
        self.host = host
        self.context = nova_context.get_admin_context()
        server = str(uuid.uuid4())
        times = {} if holding is None else {
            'hw:cpu.rt_runtime_us': str(holding.reservation.runtime_us),
            'hw:cpu.rt_period_us': str(holding.reservation.period_us)}
        flavor = objects.Flavor(vcpus=vcpus, memory_mb=32, extra_specs={**times, **extra_specs})
        self.instance = objects.Instance(
            uuid=server, id=1, host=CONF.host, vm_state='active', task_state=None,
            flavor=flavor, system_metadata={}, numa_topology=None, project_id='p',
            migration_context=None, resources=None, image_ref='',
            pci_devices=objects.PciDeviceList(objects=[]), display_name='web',
            info_cache=objects.InstanceInfoCache(network_info=network_model.NetworkInfo()),
            pci_requests=objects.InstancePCIRequests(requests=[]))
        if holding:
            holdings.set_pcpus(self.instance, holding.pcpus)
        self.xml = DOMAIN.format(
            type=VIRT_TYPE, name=f'instance-{server[:8]}', uuid=server, vcpus=vcpus,
            partition=private_libvirt.partition(name), disk=disk)
        if holding:
            self.xml = machine_start.domain(
                self.xml, holding, self.instance, CONF.rt.hear_misses)

    def start(self, **kwargs):
        """Start it as Nova does for every operation that creates the domain."""
        return self.host._create_guest(self.context, self.xml, self.instance, **kwargs)

    @property
    def guest(self):
        return self.host._host.get_guest(self.instance)

    @property
    def threads(self):
        return self.host.reservations._threads_of(self.guest.id)

    def scheduled(self):
        """Return policy, µs of runtime, and pCPUs of each vCPU's thread."""
        kernel = self.host.reservations._scheduler
        return [(kernel.read(thread).policy, kernel.read(thread).runtime_ns // 1000,
                 sorted(kernel.affinity(thread))) for thread in self.threads]


@pytest.fixture
def server(host, disk):
    """Makes servers with a reservation on each of two pCPUs."""
    def server(runtime_us=30_000, period_us=100_000, pcpus=(0, 1), **extra_specs):
        holding = ledger.Holding(reservation.Reservation(
            runtime_us, period_us, len(pcpus)), pcpus) if runtime_us else None
        return Server(host, disk, holding, len(pcpus), **extra_specs)
    return server


def started(server):
    """Return the event that libvirt sends when a server's domain starts."""
    return virtevent.LifecycleEvent(
        server.instance.uuid, virtevent.EVENT_LIFECYCLE_STARTED)
