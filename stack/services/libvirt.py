# SPDX-License-Identifier: Apache-2.0
"""libvirt's LXC driver, in a mount namespace of its own."""

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
import shlex

from stack import host
from stack.service import Service
from stack.service import Site

# Where libvirt keeps its files is compiled in: these become ours.
DIRECTORIES = (
    '/run/libvirt', '/etc/libvirt', '/var/lib/libvirt', '/var/cache/libvirt',
    '/var/log/libvirt',
)

CONFIGURATION = """\
auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
log_outputs = "3:stderr"
"""

# QEMU's driver insists on a user of its own, the network's on dnsmasq.
DRIVERS = ('lxc', 'nodedev', 'secret', 'interface')


def inside(site: Site, *command: str) -> tuple[str, ...]:
    """Return ``command`` to be run in the stack's mount namespace."""
    holder = site.processes.leader(MountNamespace.name)
    return ('nsenter', f'--mount=/proc/{holder}/ns/mnt', '--', *command)


class MountNamespace(Service):
    """The process that keeps the mount namespace of libvirt and nova-compute.

    In it, libvirt's directories are ours, and on a machine with the hybrid
    cgroup layout the cgroup2 mount is away: libvirt 9 cannot start an LXC
    container beside it.
    """

    name = 'mount-namespace'

    def prepare(self) -> None:
        """Make the directories, here and where they will be mounted."""
        libvirt = self.site.rundir.data / 'libvirt'
        host.make_mount_points(self.site.rundir, DIRECTORIES)
        for path in DIRECTORIES:
            _ours(libvirt, path).mkdir(parents=True, exist_ok=True)
        (_ours(libvirt, '/etc/libvirt') / 'libvirtd.conf').write_text(
            CONFIGURATION)

    def command(self) -> Sequence[str]:
        """Return a shell that mounts and then only holds the namespace."""
        libvirt = self.site.rundir.data / 'libvirt'
        lines = ['set -e']
        lines += [
            shlex.join(('mount', '--bind', str(_ours(libvirt, path)), path))
            for path in DIRECTORIES]
        if host.has_hybrid_cgroups():
            lines.append(f'umount {host.UNIFIED}')
        lines.append(f'touch {shlex.quote(str(self._flag))}')
        lines.append('exec sleep infinity')
        return ('unshare', '--mount', '--propagation', 'private',
                'sh', '-c', '\n'.join(lines))

    def ready(self) -> bool:
        """Whether everything is mounted."""
        return self._flag.exists()

    @property
    def _flag(self) -> Path:
        return self.site.rundir.data / 'mounted'


class Libvirt(Service):
    """Debian's libvirtd, without systemd and without TCP."""

    name = 'libvirtd'
    needs = ('mount-namespace',)

    def prepare(self) -> None:
        """Choose libvirt's drivers by links to them."""
        self._drivers.mkdir(parents=True)
        for name in DRIVERS:
            module = host.libvirt_driver(name)
            if module is not None:
                (self._drivers / module.name).symlink_to(module)

    def environment(self) -> Mapping[str, str]:
        """Return where the chosen drivers are."""
        return {'LIBVIRT_DRIVER_DIR': str(self._drivers)}

    def command(self) -> Sequence[str]:
        """Return libvirtd's command line."""
        return inside(
            self.site, '/usr/sbin/libvirtd', '--pid-file',
            str(self.site.rundir.path / 'libvirtd.pid'))

    def ready(self) -> bool:
        """Whether its socket is there."""
        return (_ours(self.site.rundir.data / 'libvirt', '/run/libvirt')
                / 'libvirt-sock').exists()

    @property
    def _drivers(self) -> Path:
        return self.site.rundir.data / 'libvirt' / 'drivers'


def _ours(libvirt: Path, path: str) -> Path:
    return libvirt / path.strip('/').replace('/', '-')
