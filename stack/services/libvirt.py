# SPDX-License-Identifier: Apache-2.0
"""libvirt's LXC or QEMU driver, in a mount namespace of its own."""

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
import shlex

from stack import host
from stack.service import Service
from stack.service import Site

# These paths are compiled into the programs; ours are mounted there.
DIRECTORIES = (
    '/run/libvirt', '/etc/libvirt', '/var/lib/libvirt', '/var/cache/libvirt',
    '/var/log/libvirt',
    # Of Open vSwitch and "ip netns", where there is a network.
    '/run/openvswitch', '/etc/openvswitch', '/var/log/openvswitch',
    '/run/netns',
)

CONFIGURATION = """\
auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
log_outputs = "3:stderr"
"""

# Besides the one for servers; the network's insists on dnsmasq.
DRIVERS = ('nodedev', 'secret', 'interface')
QEMU_CONF = """\
user = "root"
group = "root"
security_driver = "none"
namespaces = []
stdio_handler = "file"
"""
# The user that QEMU's driver insists on, though it does not use it here.
_QEMU_USER = {'passwd': 'libvirt-qemu:x:64055:64055::/nonexistent:/bin/false\n',
              'group': 'libvirt-qemu:x:64055:\n'}


def inside(site: Site, *command: str) -> tuple[str, ...]:
    """Return a command line that runs ``command`` in the stack's mount namespace."""
    holder = site.processes.leader(MountNamespace.name)
    return ('nsenter', f'--mount=/proc/{holder}/ns/mnt', '--', *command)


def ours(site: Site, path: str) -> Path:
    """Return our directory that is mounted at one of DIRECTORIES."""
    return site.rundir.data / 'libvirt' / path.strip('/').replace('/', '-')


class MountNamespace(Service):
    """The process that keeps the mount namespace of libvirt and nova-compute.

    In it, libvirt's directories are ours. With the hybrid cgroup layout, the
    cgroup2 mount is removed: libvirt 9 cannot start an LXC container beside it.
    """

    name = 'mount-namespace'

    def prepare(self) -> None:
        """Make the directories, here and where they will be mounted."""
        host.make_mount_points(self.site.rundir, DIRECTORIES)
        for path in DIRECTORIES:
            ours(self.site, path).mkdir(parents=True, exist_ok=True)
        (ours(self.site, '/etc/libvirt') / 'libvirtd.conf').write_text(
            CONFIGURATION)
        if self.site.runs_machines:
            (ours(self.site, '/etc/libvirt') / 'qemu.conf').write_text(QEMU_CONF)
            for name, line in _QEMU_USER.items():
                text = Path('/etc', name).read_text()
                self._with_user(name).write_text(
                    text if 'libvirt-qemu' in text else text + line)

    def _with_user(self, name: str) -> Path:
        return self.site.rundir.data / 'libvirt' / name

    def command(self) -> Sequence[str]:
        """Return a shell that mounts and then only holds the namespace."""
        lines = ['set -e']
        lines += [
            shlex.join(('mount', '--bind', str(ours(self.site, path)), path))
            for path in DIRECTORIES]
        if self.site.runs_machines:
            lines += [
                shlex.join(('mount', '--bind', str(self._with_user(name)), f'/etc/{name}'))
                for name in _QEMU_USER]
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
        for name in ('qemu' if self.site.runs_machines else 'lxc', *DRIVERS):
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
        return (ours(self.site, '/run/libvirt') / 'libvirt-sock').exists()

    @property
    def _drivers(self) -> Path:
        return self.site.rundir.data / 'libvirt' / 'drivers'
