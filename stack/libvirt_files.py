# SPDX-License-Identifier: Apache-2.0
"""The files of a libvirtd of our own, mounted where its program expects them.

:param data: in all functions, the directory that has them
"""

from collections.abc import Iterable
from pathlib import Path
import shlex
import uuid

from stack import host

# These paths are compiled into the programs.
DIRECTORIES = ('/run/libvirt', '/etc/libvirt', '/var/lib/libvirt', '/var/cache/libvirt',
               '/var/log/libvirt')
_LIBVIRTD_CONF = """\
auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
log_outputs = "3:stderr"
host_uuid = "{}"
"""
_QEMU_CONF = """\
user = "root"
group = "root"
security_driver = "none"
namespaces = []
stdio_handler = "file"
"""
# The user that QEMU's driver insists on, though it does not use it here.
_QEMU_USER = {'passwd': 'libvirt-qemu:x:64055:64055::/nonexistent:/bin/false',
              'group': 'libvirt-qemu:x:64055:'}


def ours(data: Path, path: str) -> Path:
    """Return our directory that is mounted at a path."""
    return data / path.strip('/').replace('/', '-')


def socket(data: Path) -> Path:
    """Return the socket on which the libvirtd listens."""
    return ours(data, '/run/libvirt') / 'libvirt-sock'


def prepare(data: Path, paths: Iterable[str] = DIRECTORIES, machines: bool = True,
            address: str = '') -> None:
    """Make our directories and write libvirt's configuration.

    :param machines: whether QEMU's driver is used.
    :param address: at which machines arrive that are migrated live; libvirt does not
        take 127.0.0.1. Any of the machine's if empty.
    """
    for path in paths:
        ours(data, path).mkdir(parents=True, exist_ok=True)
    etc = ours(data, '/etc/libvirt')
    # Two libvirtds of one machine take themselves for one host, else.
    (etc / 'libvirtd.conf').write_text(_LIBVIRTD_CONF.format(uuid.uuid4()))
    if not machines:
        return
    arrival = f'migration_address = "{address}"\n' if address else ''
    (etc / 'qemu.conf').write_text(_QEMU_CONF + arrival)
    for name, line in _QEMU_USER.items():
        text = Path('/etc', name).read_text()
        (data / name).write_text(text if 'libvirt-qemu' in text else f'{text}{line}\n')


def link_drivers(data: Path, names: Iterable[str]) -> Path:
    """Choose drivers by links to them; return the directory for LIBVIRT_DRIVER_DIR."""
    drivers = data / 'drivers'
    drivers.mkdir(parents=True)
    for name in names:
        module = host.libvirt_driver(name)
        if module is not None:
            (drivers / module.name).symlink_to(module)
    return drivers


def mounts(data: Path, paths: Iterable[str] = DIRECTORIES,
           machines: bool = True) -> list[str]:
    """Return the commands that put everything in place, in a mount namespace.

    With the hybrid layout of control groups, the mount of version 2 is removed: libvirt 9
    cannot start a container beside it.
    """
    pairs = [(str(ours(data, path)), path) for path in paths]
    if machines:
        pairs += [(str(data / name), f'/etc/{name}') for name in _QEMU_USER]
    lines = [shlex.join(('mount', '--bind', *pair)) for pair in pairs]
    if host.has_hybrid_cgroups():
        lines.append(f'umount {host.UNIFIED}')
    return lines
