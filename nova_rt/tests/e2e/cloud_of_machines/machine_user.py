# SPDX-License-Identifier: Apache-2.0
"""A user whose servers are virtual machines, and the kernel under them."""

from collections.abc import Iterator
import contextlib
import pathlib
import struct

import openstack
import openstack.exceptions

from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack import machines
from stack import vcpus
from stack.image import build
from stack.service import Site
from stack.services import hosts

# The line of nova.conf that has a host give servers half of each pCPU at most. Where they
# could burn nearly all of two pCPUs, nothing else would get on, the test's end included.
HALF = 'cap = 0.5'
DISK_BYTES = 1 << 20


class MachineUser(driver.User):
    """See base class; all vCPUs of her servers burn CPU.

    :param site: of the stack that runs them
    """

    image = build.MACHINE

    def __init__(self, cloud: openstack.connection.Connection,
                 operator: openstack.connection.Connection, site: Site,
                 names: Iterator[str]) -> None:
        super().__init__(cloud, operator, names)
        self._site = site

    def machine(self, server: str) -> vcpus.Machine:
        """Return a server's virtual machine as the kernel has it.

        :raises FileNotFoundError: if none runs.
        """
        shown = self._operator.compute.get_server(server)
        return machines.machine(self._site, shown.name, shown.instance_name,
                                hosts.number(shown.compute_host))

    def burning(self, server: str) -> vcpus.Machine:
        """Wait until its firmware is done and all vCPUs of a server burn CPU; see machine().

        Firmware waits for threads of QEMU that have no reservation.
        """
        machine = self.machine(server)
        driver.until(lambda: vcpus.all_burn(machine.threads.values()),
                     f'all vCPUs of {server} burn CPU')
        return machine

    def shares(self, server: str) -> set[float]:
        """Return what the kernel has reserved for a server's vCPUs, as fractions."""
        return set(self.machine(server).shares.values())

    def nothing_runs(self) -> bool:
        """Whether no virtual machine of the stack is left."""
        return not machines.reserved_threads(self._site)


@contextlib.contextmanager
def of(stack: stack_cloud.Cloud, operator: openstack.connection.Connection,
       names: Iterator[str]) -> Iterator[MachineUser]:
    """Yield the stack's ordinary user, and delete her servers at the end."""
    user = MachineUser(
        driver.connect(stack.environment('demo')), operator, stack.site, names)
    yield user
    user.delete_all()
    driver.until(user.nothing_runs, 'no virtual machine is left')


@contextlib.contextmanager
def idle(operator: openstack.connection.Connection) -> Iterator[str]:
    """Yield the name of a disk whose virtual machines do nothing.

    Two CPUs must do for them and for all services.
    """
    # It disables interrupts, halts, and halts again should it wake up. Glance and Nova take a
    # disk only if its first sector names a partition.
    code = bytes([0xFA, 0xF4, 0xEB, 0xFD]).ljust(446, b'\0')
    partition = struct.pack('<8BLL', 0x80, 0, 2, 0, 0x83, 0, 2, 0, 1, 2047)
    sector = (code + partition).ljust(510, b'\0') + b'\x55\xAA'
    with _uploaded(operator, 'idle', sector.ljust(DISK_BYTES, b'\0')) as name:
        yield name


@contextlib.contextmanager
def aloof(operator: openstack.connection.Connection, directory: pathlib.Path
          ) -> Iterator[str]:
    """Yield the name of a disk whose vCPUs burn CPU and never wait for other threads of QEMU.

    :param directory: where it is assembled
    """
    disk = build.boot_sector(directory / 'aloof.raw', build.run_command, DISK_BYTES, ALOOF=1)
    with _uploaded(operator, 'aloof', disk.read_bytes()) as name:
        yield name


@contextlib.contextmanager
def _uploaded(operator: openstack.connection.Connection, name: str, content: bytes
              ) -> Iterator[str]:
    """Give an image a disk's content; delete it at the end."""
    image = operator.image.create_image(
        name, disk_format='raw', container_format='bare', min_disk=1, visibility='public',
        hypervisor_type='qemu')
    try:
        image.data = content
        openstack.exceptions.raise_from_response(image.upload(operator.image))
        yield image.name
    finally:
        operator.image.delete_image(image)
