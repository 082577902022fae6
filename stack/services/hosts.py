# SPDX-License-Identifier: Apache-2.0
"""What tells the hosts of virtual machines on this machine apart: one, or two of them."""

import os
from pathlib import Path
import socket

from stack import libvirt_files
from stack.service import Site
from stack.services import libvirt

SECOND = 'host-2'  # its name; that of the first is the machine's


def options(site: Site, number: int) -> dict[str, dict[str, object]]:
    """Return what a host of several has in nova.conf for itself, nothing for the only one."""
    if site.hosts == 1:
        return {}
    other = libvirt_files.socket(libvirt.data(site, 3 - number))
    address = libvirt.address(number)
    return {
        'DEFAULT': {'my_ip': address, 'host': name(number)},
        'rt': {'cpu_set': ','.join(map(str, pcpus(number)))},
        'libvirt': {
            'live_migration_inbound_addr': address,
            # Nova puts an address in, which a socket has not.
            'live_migration_uri': f'qemu+unix:///system?socket={other}%.0s'},
        # libvirt does not compare what QEMU emulates.
        'workarounds': {'skip_cpu_compare_on_dest': True},
    }


def pcpus(number: int) -> range:
    """Return the pCPUs of one of two hosts: the lower or the upper half of the machine's."""
    count = os.cpu_count() or 1
    return range(count // 2) if number == 1 else range(count // 2, count)


def name(number: int) -> str:
    """Return what Nova calls one of this machine's hosts."""
    return socket.gethostname() if number == 1 else SECOND


def number(name: str) -> int:
    """Return which of this machine's hosts Nova calls so."""
    return 2 if name == SECOND else 1


def nova(site: Site, number: int) -> Path:
    """Return the directory of Nova's state and of the disks on a host."""
    return site.rundir.data / libvirt.of_host('nova', number)


def between(site: Site) -> Path:
    """Return the directory with the commands that go from one host to the other."""
    return site.rundir.data / 'between'
