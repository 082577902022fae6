# SPDX-License-Identifier: Apache-2.0
"""The virtual machine of a node: its two disks, and QEMU."""

from collections.abc import Sequence
import os
from pathlib import Path
import socket
import subprocess
import uuid

from stack.nodes import share
from stack.processes import MARK
from stack.service import Service
from stack.service import Site

ROOT = Path(__file__).parents[2]
CPUS = 4
MEMORY_MIB = 1024
NETWORK_MIB = 512  # more, for Neutron's agent and Open vSwitch
SHARE = '128M'
# Where QEMU's user network lets a guest see the loopback of its host.
HOST = '10.0.2.2'
ON_CONSOLE = (
    'console=ttyS0 quiet panic=-1 systemd.show_status=0 root=/dev/vda rw '
    # The emulator's clock is the host's: it is never unstable, and no timer is
    # missing that comes late when the host is busy.
    'tsc=reliable clocksource=tsc no_timer_check')


class NodeImage(Service):
    """What all nodes have in common: kernel, file system, and the key to them.

    Nodes for containers have our kernel, those for virtual machines Debian's. Both, and
    the file system, are kept, by what they are made of, below ``~/.cache/nova-rt``.
    """

    name = 'node-image'

    def prepare(self) -> None:
        """Build what is missing; log/node-*.log shows the progress."""
        pins = self.site.rundir.data / 'node-requirements.txt'
        share.write_pins(pins)
        share.make_key(self.site)
        kind = 'machines' if self.site.runs_machines else 'containers'
        image = self._made('filesystem', ROOT / 'kernel' / 'guest' / 'image', kind, pins)
        self._link('filesystem', image)
        if self.site.runs_machines:
            self._link('kernel', f'{image}.vmlinuz')
            self._link('initrd', f'{image}.initrd')
        else:
            self._link('kernel', self._made('kernel', ROOT / 'kernel' / 'build', 'hcbs'))

    def _made(self, what: str, *command: object) -> str:
        """Return what a script has made, as the last line of its output says."""
        self.site.processes.run(
            f'node-{what}', [str(part) for part in command],
            {'PYTHON': self.site.script('python')})
        return (self.site.rundir.logs / f'node-{what}.log').read_text().split()[-1]

    def _link(self, what: str, made: str) -> None:
        (self.site.rundir.data / f'node-{what}').symlink_to(made)


class Machine(Service):
    """One node's virtual machine.

    :param number: from 1; the node is called ``node-NUMBER``.
    """

    needs_to_prepare = (NodeImage.name,)
    patience = 900.0
    pause = 2.0  # each check is a process in the guest
    cpus = CPUS
    # Time passes in it as outside.
    timing: tuple[str, ...] = ('-accel', 'tcg,thread=multi,tb-size=512')

    def __init__(self, site: Site, number: int) -> None:
        super().__init__(site)
        self.number = number
        self.name = f'node-{number}'
        self.folder = site.rundir.data / self.name
        # The device that is the other end of its third card; the part of the
        # stack that it comes from; and Neutron's agent in the node.
        self.tap = f'tap-{self.name}'
        self.wire = f'{self.name}-wire'
        self.agent = f'{self.name}-agent'
        if site.has_network:
            self.needs = (self.wire,)

    def prepare(self) -> None:
        """Make the disk, an overlay, and that with the folder that the node mounts."""
        self.folder.mkdir()
        self.site.processes.run(f'{self.name}-disk', (
            'qemu-img', 'create', '-q', '-f', 'qcow2', '-F', 'raw', '-b',
            self._made('filesystem'), str(self._disk)))
        self.write_share(self.folder / 'share')
        self.site.processes.run(f'{self.name}-share', (
            'mke2fs', '-q', '-t', 'ext4', '-O', '^has_journal', '-d',
            str(self.folder / 'share'), str(self._share), SHARE))

    def write_share(self, folder: Path) -> None:
        """Write the folder that the node mounts."""
        share.write_programs(self.site, folder)
        share.write_configuration(self.site, folder, self.name, HOST)

    def command(self) -> Sequence[str]:
        """Return QEMU's command line."""
        port = self.site.port(f'{self.name}-ssh')
        lan = self.site.port('nodes-lan')
        return (
            'qemu-system-x86_64', '-name', self.name, '-machine', 'q35',
            *self.timing, '-cpu', 'max', '-smp', str(self.cpus),
            '-m', str(self._memory_mib), '-nodefaults', '-display', 'none',
            '-serial', 'stdio',
            '-uuid', str(uuid.uuid5(uuid.NAMESPACE_DNS, self.name)),
            '-kernel', self._made('kernel'),
            *(('-initrd', self._made('initrd')) if self.site.runs_machines else ()),
            '-append', self._kernel_command_line(),
            '-drive', f'file={self._disk},if=virtio,cache=unsafe',
            '-drive', f'file={self._share},if=virtio,format=raw,readonly=on',
            '-netdev', f'user,id=user,hostfwd=tcp:127.0.0.1:{port}-:22',
            '-device', 'virtio-net-pci,netdev=user,mac=52:54:00:00:00:01,'
                       'romfile=',
            '-netdev', 'socket,id=lan,localaddr=127.0.0.1,'
                       f'mcast=239.192.0.1:{lan}',
            '-device', 'virtio-net-pci,netdev=lan,romfile=,'
                       f'mac=52:54:00:00:01:{self.number:02x}',
            '-device', 'virtio-rng-pci',
            *self._third_card(),
        )

    def _third_card(self) -> Sequence[str]:
        if not self.site.has_network:
            return ()
        # The node completes what it sends: no header says what is left to do.
        return ('-netdev', f'tap,id=provider,ifname={self.tap},script=no,'
                           'downscript=no,vnet_hdr=off',
                '-device', 'virtio-net-pci,netdev=provider,romfile=,'
                           f'mac=52:54:00:00:02:{self.number:02x}')

    def ready(self) -> bool:
        """Whether its ssh server answers."""
        with socket.socket() as peer:
            peer.settimeout(2)
            try:
                peer.connect(('127.0.0.1', self.site.port(f'{self.name}-ssh')))
                return peer.recv(4) == b'SSH-'
            except OSError:
                return False

    def run(self, *command: str, check: bool = True, text: str = '',
            patience: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command in the guest as root.

        :param command: passed to a shell there, joined by spaces.
        :param text: its standard input.
        :param patience: seconds until it times out.
        :raises CalledProcessError: if it fails and ``check`` is true.
        """
        # The connection stays for the next command, and ends with the stack.
        return subprocess.run(
            ('ssh', *self._ssh_options(), 'root@127.0.0.1', *command),
            input=text, capture_output=True, text=True, check=check,
            timeout=patience,
            env={**os.environ, MARK: str(self.site.rundir.path)})

    def reboot(self) -> None:
        """Shut the guest down, restart it, and wait for its ssh server.

        :raises StackError: if it does not come back.
        """
        before = self._boot()
        self.run('systemctl', 'reboot', check=False)
        self.wait(lambda: self._boot() not in ('', before))

    def _boot(self) -> str:
        """Return the id of this boot, '' if the guest does not answer."""
        try:
            return self.run(
                'cat', '/proc/sys/kernel/random/boot_id', check=False,
                patience=60).stdout
        except subprocess.TimeoutExpired:
            return ''

    def _ssh_options(self) -> Sequence[str]:
        options = (
            'BatchMode=yes', 'StrictHostKeyChecking=no', 'LogLevel=ERROR',
            'UserKnownHostsFile=/dev/null', 'ConnectTimeout=60',
            'ServerAliveInterval=15',
            'ControlMaster=auto', 'ControlPersist=60',
            f'ControlPath={self.folder}/ssh')
        return ('-F', 'none', '-i', str(share.key(self.site)),
                '-p', str(self.site.port(f'{self.name}-ssh')),
                *(word for option in options for word in ('-o', option)))

    def _kernel_command_line(self) -> str:
        identity = uuid.uuid5(uuid.NAMESPACE_DNS, f'machine-{self.name}')
        return (f'{ON_CONSOLE} systemd.hostname={self.name} '
                f'systemd.machine_id={identity.hex}')

    def _made(self, what: str) -> str:
        """Return the path of a part of the image that all nodes have in common."""
        return str((self.site.rundir.data / f'node-{what}').resolve())

    @property
    def _memory_mib(self) -> int:
        return MEMORY_MIB + (NETWORK_MIB if self.site.has_network else 0)

    @property
    def _disk(self) -> Path:
        return self.folder / 'disk.qcow2'

    @property
    def _share(self) -> Path:
        return self.folder / 'share.ext4'
