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
import uuid

import libvirt

from stack import host
from stack.services.libvirt import CONFIGURATION

# Compiled into libvirtd; ours are mounted there.
DIRECTORIES = ('/run/libvirt', '/etc/libvirt', '/var/lib/libvirt', '/var/cache/libvirt',
               '/var/log/libvirt')
QEMU_CONF = """\
user = "root"
group = "root"
security_driver = "none"
namespaces = []
stdio_handler = "file"
"""
CGROUPS = pathlib.Path('/sys/fs/cgroup')

# A boot sector: every vCPU runs a jump to itself.
SPINNING = """\
    .code16
    .globl _start
_start:
    cli
    xor %ax, %ax
    mov %ax, %ds
    mov %ax, %es
    mov %ax, %ss
    movw $0xfeeb, 0x8000            /* the jump of the other vCPUs */
    lgdtl gdtr
    mov %cr0, %eax
    or $1, %al
    mov %eax, %cr0
    ljmp $8, $protected
    .code32
protected:
    mov $16, %ax
    mov %ax, %ds
    movl $0x000c4500, 0xfee00300    /* INIT to all others */
    mov $100000, %ecx
1:  dec %ecx
    jnz 1b
    movl $0x000c4608, 0xfee00300    /* start them at 0x8000 */
2:  jmp 2b
    .balign 8
gdt:
    .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdtr:
    .word gdtr - gdt - 1
    .long gdt
    .org 510
    .word 0xaa55
"""


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


def spinning_disk(directory: pathlib.Path) -> pathlib.Path:
    """Assemble the disk of a machine whose vCPUs burn CPU."""
    (directory / 'spin.S').write_text(SPINNING)
    subprocess.run(['as', '--32', 'spin.S', '-o', 'spin.o'], cwd=directory, check=True)
    subprocess.run(['ld', '-m', 'elf_i386', '-Ttext', '0x7c00', '--oformat', 'binary',
                    'spin.o', '-o', 'spin.img'], cwd=directory, check=True)
    # A floppy disk: libvirt takes it for shared by two hosts, as it is only read.
    os.truncate(directory / 'spin.img', 1_474_560)
    return directory / 'spin.img'


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
    groups = _make_groups(name)
    _prepare(directory)
    log = (directory / 'libvirtd.log').open('wb')
    enter = [] if inside is None else ['nsenter', f'--net=/proc/{inside}/ns/net']
    process = subprocess.Popen(
        [*enter, 'unshare', '--mount', '--propagation', 'private', '--uts', 'sh', '-c',
         f'hostname {name}\n{_script(directory)}'],
        stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, 'LIBVIRT_DRIVER_DIR': str(directory / 'drivers')})
    socket = directory / 'run-libvirt/libvirt-sock'
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
        _remove_groups(groups)


def _prepare(directory: pathlib.Path) -> None:
    for path in DIRECTORIES:
        _ours(directory, path).mkdir()
    etc = _ours(directory, '/etc/libvirt')
    # Two libvirtds of one machine take themselves for one host, else.
    (etc / 'libvirtd.conf').write_text(f'{CONFIGURATION}host_uuid = "{uuid.uuid4()}"\n')
    (etc / 'qemu.conf').write_text(QEMU_CONF)
    (directory / 'drivers').mkdir()
    module = host.libvirt_driver('qemu')
    (directory / 'drivers' / module.name).symlink_to(module)
    # QEMU's driver insists on a user of its own, though it does not use it here.
    for name, line in (('passwd', 'libvirt-qemu:x:64055:64055::/nonexistent:/bin/false'),
                       ('group', 'libvirt-qemu:x:64055:')):
        text = pathlib.Path('/etc', name).read_text()
        (directory / name).write_text(
            text if 'libvirt-qemu' in text else f'{text}{line}\n')


def _script(directory: pathlib.Path) -> str:
    mounts = [(str(_ours(directory, path)), path) for path in DIRECTORIES]
    mounts += [(str(directory / name), f'/etc/{name}') for name in ('passwd', 'group')]
    # Not on the machine's own directories: removing a mount point would unmount what
    # another libvirt has mounted there.
    lines = ['set -e', 'mount -t tmpfs none /run', 'mount -t tmpfs none /var',
             shlex.join(('mkdir', '-p', *DIRECTORIES))]
    lines += [shlex.join(('mount', '--bind', *pair)) for pair in mounts]
    if host.has_hybrid_cgroups():
        lines.append(f'umount {host.UNIFIED}')
    lines.append(shlex.join(('exec', '/usr/sbin/libvirtd', '--pid-file',
                             str(directory / 'libvirtd.pid'))))
    return '\n'.join(lines)


def _ours(directory: pathlib.Path, path: str) -> pathlib.Path:
    return directory / path.strip('/').replace('/', '-')


def _make_groups(name: str) -> list[pathlib.Path]:
    """Make the groups of our partition, in every hierarchy that libvirt uses."""
    above = [path for path in CGROUPS.iterdir()
             if (path / 'tasks').exists()] or [CGROUPS]
    groups = []
    for path in above:
        group = path / f'{partition(name)}.partition'
        group.mkdir()
        groups.append(group)
        for cpuset in ('cpuset.cpus', 'cpuset.mems'):
            if (group / cpuset).exists() and path != CGROUPS:
                (group / cpuset).write_text((path / cpuset).read_text())
    return groups


def _remove_groups(groups: list[pathlib.Path]) -> None:
    for group in groups:
        _wait(lambda group=group: _try_rmdir(group))


def _try_rmdir(group: pathlib.Path) -> bool:
    for below in sorted(group.rglob('*/'), reverse=True):
        with contextlib.suppress(OSError):
            below.rmdir()
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


def _wait(condition, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError('libvirtd, or a group, did not change within seconds')
        time.sleep(0.05)
