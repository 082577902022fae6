# SPDX-License-Identifier: Apache-2.0
"""Build the containers' images as raw ext4 file systems, and the disk of virtual machines.

``python -m stack.image.build DIRECTORY [NAME...]`` builds those, or all of the containers'.
"""

from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
import shutil
import subprocess
import sys

SOURCES = Path(__file__).parent
SIZE = '16M'

# Image: what /etc/rc runs when a container starts, besides its network.
IMAGES: dict[str, str] = {
    'busybox': '',
    'busybox-hog': 'exec /bin/hog fifo 10',
    'busybox-hog-rr': 'exec /bin/hog rr 10',
    # Not real-time, so it needs no reservation.
    'busybox-noisy': 'exec /bin/hog other',
    # Prints every few seconds, on its console, how much CPU it got.
    'busybox-meter': 'while :; do /bin/hog fifo 10 4; done',
}

# The disk of virtual machines, and what such a machine says on its serial line.
MACHINE = 'spin'
WORD = b'nova-rt'

Run = Callable[[str, Sequence[str]], object]


def build(name: str, directory: Path, run: Run) -> Path:
    """Build one image.

    :param name: a key of IMAGES.
    :param directory: where NAME.raw and the scratch files go.
    :param run: runs a command under a name; raises if it fails.
    :returns: the image's path.
    """
    root = directory / f'{name}.root'
    shutil.rmtree(root, ignore_errors=True)
    for folder in ('bin', 'sbin', 'etc', 'dev', 'proc', 'sys', 'tmp', 'run',
                   'srv'):
        (root / folder).mkdir(parents=True)
    shutil.copy('/usr/bin/busybox', root / 'bin' / 'busybox')
    for applet in ('sh', 'sleep', 'cat', 'ps', 'kill', 'ls', 'mount'):
        (root / 'bin' / applet).symlink_to('busybox')
    for program, folder in (('init', 'sbin'), ('hog', 'bin')):
        compile_program(program, root / folder / program, run)
    for script in ('network', 'lease'):
        shutil.copy(SOURCES / script, root / 'etc')
        (root / 'etc' / script).chmod(0o755)
    rc = root / 'etc' / 'rc'
    rc.write_text(f'#!/bin/sh\n/etc/network &\n{IMAGES[name]}\n')
    rc.chmod(0o755)
    image = directory / f'{name}.raw'
    image.unlink(missing_ok=True)
    run(f'image-{name}', (
        'mkfs.ext4', '-q', '-F', '-d', str(root), str(image), SIZE))
    shutil.rmtree(root)
    return image


def compile_program(program: str, target: Path, run: Run) -> None:
    """Compile one of our C programs statically, so that it runs anywhere."""
    run(f'gcc-{program}', (
        'gcc', '-O2', '-Wall', '-Wextra', '-Werror', '-static', '-pthread',
        '-o', str(target), str(SOURCES / f'{program}.c')))


def build_machine(directory: Path, run: Run) -> Path:
    """Assemble the disk of a virtual machine whose vCPUs burn CPU.

    :param directory: where MACHINE.raw and the scratch files go.
    :returns: the disk's path.
    """
    return boot_sector(directory / f'{MACHINE}.raw', run, 1 << 20)


def boot_sector(disk: Path, run: Run, size: int, **symbols: int) -> Path:
    """Assemble a disk whose vCPUs burn CPU.

    :param disk: its path, with a suffix.
    :param size: in bytes.
    :param symbols: what it does besides, see ``spin.S``.
    """
    compiled = disk.with_suffix('.o')
    defined = [argument for name, value in symbols.items()
               for argument in ('--defsym', f'{name}={value}')]
    run('as-spin', ('as', '--32', *defined, str(SOURCES / 'spin.S'), '-o', str(compiled)))
    run('ld-spin', ('ld', '-m', 'elf_i386', '-Ttext', '0x7c00', '--oformat', 'binary',
                    str(compiled), '-o', str(disk)))
    compiled.unlink()
    with disk.open('r+b') as content:
        content.truncate(size)
    return disk


def main() -> None:
    """Build images into the given directory."""
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or IMAGES:
        print(build_machine(directory, run_command) if name == MACHINE
              else build(name, directory, run_command))


def run_command(name: str, command: Sequence[str]) -> None:
    """Run a command in the foreground; its name is for those who keep logs.

    :raises subprocess.CalledProcessError: if it fails
    """
    subprocess.run(command, check=True)


if __name__ == '__main__':
    main()
