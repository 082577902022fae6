# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with our kernel, in deterministic virtual time.

By default, it has one CPU, on which an instruction takes 1 ns. Waiting takes no
real time, and a run repeats exactly. ``kernel/test`` does the same with other
programs.
"""

from collections.abc import Mapping
import dataclasses
import functools
import os
from pathlib import Path
import re
import shutil
import subprocess
import tarfile
import tempfile

ROOT = Path(__file__).resolve().parent.parent
SOURCES = Path(__file__).resolve().parent / 'vm'
# Debian's, with their libraries, in /tools: busybox prefers its own commands
# everywhere else.
TOOLS = ('ip', 'tc')
PACKAGES = ('qemu-system-x86', 'busybox-static', 'gcc', 'libc6-dev', 'cpio',
            'iproute2', 'linux-source-6.12')
DISK_MB = 64
_TIMEOUT_S = 3600


class GuestError(Exception):
    """The virtual machine failed; a sentence that says why."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What a virtual machine left behind.

    :ivar text: what it printed
    :ivar files: what the experiment put into ``/out``, by name
    """

    text: str
    files: Mapping[str, bytes]


def missing() -> str:
    """Return why no virtual machine can run, empty if one can."""
    absent = [package for package in PACKAGES if subprocess.run(
        ['dpkg', '-s', package], capture_output=True, check=False).returncode]
    if absent and (os.geteuid() or not _installed(absent)):
        return f'not installed: {" ".join(absent)}'
    return ''


def _installed(packages: list[str]) -> bool:
    install = ['apt-get', 'install', '-y', '-qq', '--no-install-recommends',
               *packages]
    env = os.environ | {'DEBIAN_FRONTEND': 'noninteractive'}
    for command in (install, ['apt-get', 'update', '-qq'], install):
        done = subprocess.run(command, env=env, capture_output=True,
                              check=False)
        if command is install and not done.returncode:
            return True
    return False


@functools.cache
def kernel() -> Path:
    """Return the image of our kernel; build it if it is missing.

    ``NOVA_RT_KERNEL`` names another kernel.

    :raises GuestError: if it does not build
    """
    if path := os.environ.get('NOVA_RT_KERNEL'):
        return Path(path)
    built = subprocess.run([ROOT / 'kernel' / 'build', 'hcbs'],
                           stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode:
        raise GuestError(
            'The kernel does not build: see the output of kernel/build.')
    return Path(built.stdout.splitlines()[-1])


def run(script: str, files: Mapping[str, bytes] | None = None,
        shift: int = 0, memory_mb: int = 1024, cpus: int = 1,
        timeout_s: int = _TIMEOUT_S, more: Path | None = None) -> Result:
    """Run a shell script in a virtual machine and return its results.

    :param script: finds our programs as ``exp`` and the files in ``/data``;
        what it puts into ``/out`` is returned
    :param cpus: they take turns: with more than one, times mean nothing
    :param shift: an instruction takes 2 to the power of this, in ns
    :param more: a cpio archive, to be unpacked in the root before all else
    :raises GuestError: if the script or a program in it failed
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        initrd(work, script, files, more)
        disk = work / 'disk'
        with disk.open('wb') as file:
            file.truncate(DISK_MB << 20)
        text = _boot(work, disk, shift, memory_mb, cpus, timeout_s)
        if 'GUEST done' not in text or 'FAILED' in text:
            raise GuestError('The virtual machine failed: '
                             + ' / '.join(text.splitlines()[-8:]))
        return Result(text, _unpacked(disk))


def _boot(work: Path, disk: Path, shift: int, memory_mb: int, cpus: int,
          timeout_s: int) -> str:
    command = [
        'qemu-system-x86_64', '-machine', 'q35', '-accel',
        'tcg,thread=single', '-icount', f'shift={shift},sleep=off', '-cpu',
        'max', '-smp', str(cpus), '-m', str(memory_mb), '-nographic', '-no-reboot',
        '-nodefaults', '-serial', 'stdio', '-kernel', str(kernel()),
        '-initrd', str(work / 'initrd'), '-drive',
        f'file={disk},if=virtio,format=raw', '-append',
        'console=ttyS0 quiet panic=-1']
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as exc:
        tail = (exc.stdout or b'').decode(errors='replace').splitlines()
        raise GuestError(
            f'The virtual machine did not end in {timeout_s} s: '
            + ' / '.join(tail[-5:])) from None
    return done.stdout.decode(errors='replace').replace('\r', '')


def initrd(work: Path, script: str, files: Mapping[str, bytes] | None = None,
           more: Path | None = None) -> None:
    """Make the file ``initrd`` of a virtual machine; see :func:`run`."""
    root = work / 'root'
    for name in ('bin', 'tools', 'proc', 'sys', 'dev', 'tmp', 'data'):
        (root / name).mkdir(parents=True)
    shutil.copy(_program('busybox'), root / 'bin' / 'busybox')
    for tool in TOOLS:
        _copy_with_libraries(_program(tool), root)
    _compile(root / 'bin' / 'exp')
    shutil.copy(SOURCES / 'init', root / 'init')
    (root / 'init').chmod(0o755)
    (root / 'experiment').write_text(script)
    for name, data in (files or {}).items():
        (root / 'data' / name).write_bytes(data)
    if more:
        shutil.copy(more, work / 'initrd')
    subprocess.run(['sh', '-c', 'find . | cpio -o -H newc --quiet | gzip -1 '
                    f'>> {work / "initrd"}'], cwd=root, check=True)


def _compile(target: Path) -> None:
    """Compile our programs and the library of the kernel's tests."""
    library = [ROOT / 'kernel' / 'tests' / f'{name}.c'
               for name in ('lib', 'supply')]
    done = subprocess.run(
        ['gcc', '-O2', '-Wall', '-Wextra', '-Werror', '-static', '-o', target,
         *sorted(SOURCES.glob('*.c')), *library], stderr=subprocess.PIPE,
        text=True, check=False)
    if done.returncode:
        raise GuestError(f'Our programs do not compile: {done.stderr[:500]}')


def _program(tool: str) -> str:
    path = shutil.which(tool, path=f'{os.environ["PATH"]}:/sbin:/usr/sbin')
    if path is None:
        raise GuestError(f'The program {tool} is missing: install it.')
    return os.path.realpath(path)


def _copy_with_libraries(binary: str, root: Path) -> None:
    shutil.copy(binary, root / 'tools')
    listed = subprocess.run(['ldd', binary], stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    for path in re.findall(r'(/\S+) \(0x', listed):
        target = root / path.lstrip('/')
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def _unpacked(disk: Path) -> dict[str, bytes]:
    with tarfile.open(disk) as archive:
        return {
            member.name.removeprefix('./'): file.read() for member in archive
            if member.isfile() and (file := archive.extractfile(member))}
