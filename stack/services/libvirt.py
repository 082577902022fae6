# SPDX-License-Identifier: Apache-2.0
"""libvirt's LXC or QEMU driver, in a mount namespace of its own."""

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
import shlex

from stack import host
from stack import libvirt_files
from stack.service import Service
from stack.service import Site

# Compiled into the programs, too; ours are mounted there.
DIRECTORIES = (
    *libvirt_files.DIRECTORIES,
    # Of Open vSwitch and "ip netns", where there is a network.
    '/run/openvswitch', '/etc/openvswitch', '/var/log/openvswitch',
    '/run/netns',
)

# Besides the one for servers; the network's insists on dnsmasq.
DRIVERS = ('nodedev', 'secret', 'interface')


def inside(site: Site, *command: str, number: int = 1) -> tuple[str, ...]:
    """Return a command line that runs ``command`` in the namespaces of a host.

    :param number: of the host, counted from 1.
    """
    holder = site.processes.leader(of_host(MountNamespace.name, number))
    return ('nsenter', f'--mount=/proc/{holder}/ns/mnt', f'--uts=/proc/{holder}/ns/uts',
            '--', *command)


def of_host(name: str, number: int) -> str:
    """Return how a part that each host has is called on one of them."""
    return name if number == 1 else f'{name}-{number}'


def data(site: Site, number: int = 1) -> Path:
    """Return the directory with the files of a host's libvirt."""
    return site.rundir.data / of_host('libvirt', number)


def ours(site: Site, path: str, number: int = 1) -> Path:
    """Return our directory that is mounted at one of DIRECTORIES."""
    return libvirt_files.ours(data(site, number), path)


def address(number: int) -> str:
    """Return where a host of this machine is reached by others."""
    return f'127.0.0.{10 + number}'


class MountNamespace(Service):
    """The process that keeps the mount namespace of libvirt and nova-compute.

    In it, libvirt's directories are ours.
    """

    name = 'mount-namespace'
    number = 1

    def prepare(self) -> None:
        """Make the directories, here and where they will be mounted."""
        host.make_mount_points(self.site.rundir, DIRECTORIES)
        self.write()

    def write(self) -> None:
        """Write libvirt's configuration."""
        libvirt_files.prepare(self._data, DIRECTORIES, self.site.runs_machines,
                              address(self.number) if self.site.hosts > 1 else '')

    def command(self) -> Sequence[str]:
        """Return a shell that mounts and then only holds the namespaces."""
        lines = ['set -e', *self.mounts(), f'echo $$ > {shlex.quote(str(self.flag))}',
                 'exec sleep infinity']
        return ('unshare', '--mount', '--propagation', 'private', '--uts',
                'sh', '-c', '\n'.join(lines))

    def mounts(self) -> Sequence[str]:
        """Return the commands that make the host what it is."""
        return libvirt_files.mounts(self._data, DIRECTORIES, self.site.runs_machines)

    def ready(self) -> bool:
        """Whether everything is mounted."""
        return self.flag.exists()

    @property
    def flag(self) -> Path:
        """The file with the process's number, once everything is mounted."""
        return self.site.rundir.data / f'mounted-{address(self.number)}'

    @property
    def _data(self) -> Path:
        return data(self.site, self.number)


class Libvirt(Service):
    """Debian's libvirtd, without systemd and without TCP."""

    name = 'libvirtd'
    needs: tuple[str, ...] = ('mount-namespace',)
    number = 1

    def prepare(self) -> None:
        """Choose libvirt's drivers."""
        libvirt_files.link_drivers(self._data, (
            'qemu' if self.site.runs_machines else 'lxc', *DRIVERS))

    def environment(self) -> Mapping[str, str]:
        """Return where the chosen drivers are."""
        return {'LIBVIRT_DRIVER_DIR': str(self._data / 'drivers')}

    def command(self) -> Sequence[str]:
        """Return libvirtd's command line."""
        return inside(
            self.site, '/usr/sbin/libvirtd', '--pid-file',
            str(self._data / 'libvirtd.pid'), number=self.number)

    def ready(self) -> bool:
        """Whether its socket is there."""
        return libvirt_files.socket(self._data).exists()

    @property
    def _data(self) -> Path:
        return data(self.site, self.number)
