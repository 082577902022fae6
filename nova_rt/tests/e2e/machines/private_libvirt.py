# SPDX-License-Identifier: Apache-2.0
"""A libvirtd of our own with QEMU's driver, and virtual machines that burn CPU."""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import shlex
import shutil
import subprocess
import time

import libvirt

from stack import host
from stack import libvirt_files
from stack import own_groups
from stack.image import build

# A floppy disk: libvirt takes it for shared by two hosts, as it is only read.
FLOPPY_BYTES = 1_474_560


def missing() -> str | None:
    """Return why no virtual machine can be started here, None if one can."""
    if os.geteuid() != 0:
        return 'needs root'
    if not host.libvirt_driver('qemu'):
        return "needs Debian's libvirt-daemon-driver-qemu"
    for command, package in (('/usr/sbin/libvirtd', 'libvirt-daemon'),
                             ('qemu-system-x86_64', 'qemu-system-x86'), ('ld', 'binutils')):
        if shutil.which(command) is None:
            return f"needs Debian's {package}"
    return None


def spinning_disk(directory: pathlib.Path, **symbols: int) -> pathlib.Path:
    """Assemble the disk of a machine whose vCPUs burn CPU.

    :param symbols: what it does besides, see ``stack/image/spin.S``
    """
    return build.boot_sector(
        directory / 'spin.img', build.run_command,
        FLOPPY_BYTES, **symbols)


def partition(name: str) -> str:
    """Return what the machines of a libvirtd are put below, apart from those of others."""
    return f'nova-rt-test-{os.getpid()}-{name}'


@contextlib.contextmanager
def network() -> Iterator[int]:
    """Have a network with nothing but loopback; yield a process in it."""
    process = subprocess.Popen(
        ['unshare', '--net', 'sh', '-c', 'ip link set lo up && echo up && exec sleep inf'],
        stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b'up\n'
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def running(directory: pathlib.Path, name: str = 'host',
            inside: int | None = None) -> Iterator[str]:
    """Run a libvirtd; yield its URI. At the end its machines are ended, too.

    :param name: of the host that it takes itself for
    :param inside: a process in whose network it runs; None: in this one's
    """
    groups = own_groups.make(f'{partition(name)}.partition')
    libvirt_files.prepare(directory)
    drivers = libvirt_files.link_drivers(directory, ['qemu', 'secret'])
    log = (directory / 'libvirtd.log').open('wb')
    enter = [] if inside is None else ['nsenter', f'--net=/proc/{inside}/ns/net']
    process = subprocess.Popen(
        [*enter, 'unshare', '--mount', '--propagation', 'private', '--uts', 'sh', '-c',
         f'hostname {name}\n{_script(directory)}'],
        stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, 'LIBVIRT_DRIVER_DIR': str(drivers)})
    socket = libvirt_files.socket(directory)
    uri = f'qemu:///system?socket={socket}'
    try:
        _wait(lambda: socket.exists() or process.poll() is not None)
        yield uri
    finally:
        with contextlib.suppress(libvirt.libvirtError):
            for domain in libvirt.open(uri).listAllDomains():
                with contextlib.suppress(libvirt.libvirtError):
                    domain.destroy()
        process.terminate()
        process.wait(20)
        log.close()
        assert own_groups.remove(groups) == []


def _script(directory: pathlib.Path) -> str:
    # Not on the machine's own directories: removing a mount point would unmount what
    # another libvirt has mounted there.
    return '\n'.join((
        'set -e', 'mount -t tmpfs none /run', 'mount -t tmpfs none /var',
        shlex.join(('mkdir', '-p', *libvirt_files.DIRECTORIES)),
        *libvirt_files.mounts(directory),
        shlex.join(('exec', '/usr/sbin/libvirtd', '--pid-file',
                    str(directory / 'libvirtd.pid')))))


def _wait(condition, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError('libvirtd, or a group, did not change within seconds')
        time.sleep(0.05)
