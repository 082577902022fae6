# SPDX-License-Identifier: Apache-2.0
"""A Linux guest in which applications tell of their jobs by the port.

Linux is our kernel, which has virtio-serial built in; its only programs are busybox and
those of ``jobs/``.
"""

import os
import pathlib
import shutil
import subprocess

from nova_rt.testing import jobs
from nova_rt.virt import jobs_port

PORT = f'/dev/virtio-ports/{jobs_port.NAME}'
# The links are udev's elsewhere.
_INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /run
mkdir -p /dev/virtio-ports
until ls /sys/class/virtio-ports/*/name; do sleep 0.1; done
for port in /sys/class/virtio-ports/*; do
    ln -s "../${port##*/}" "/dev/virtio-ports/$(cat "$port/name")"
done
"""


def missing():
    """Return why there is no such guest, empty if there can be one."""
    for command, package in (('busybox', 'busybox-static'), ('cpio', 'cpio'), ('cc', 'gcc')):
        if shutil.which(command) is None:
            return f"needs Debian's {package}"
    # It is not built for this: that takes an hour.
    return '' if _kernels() else 'needs our kernel: call kernel/build hcbs'


def _kernels():
    """Return the kernels that there are, the newest last; NOVA_RT_KERNEL names another."""
    if path := os.environ.get('NOVA_RT_KERNEL'):
        return [pathlib.Path(path)]
    cache = pathlib.Path(os.environ.get('NOVA_RT_CACHE') or pathlib.Path(
        os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache', 'nova-rt'))
    return sorted((path for path in cache.glob('kernel/bzImage-hcbs-*') if not path.suffix),
                  key=lambda path: path.stat().st_mtime)


def build(directory, script):
    """Return a ``<os>`` element of a domain whose guest runs a shell script.

    :param script: finds busybox's commands, ``nova-rt-run``, and ``late``
    """
    built = jobs.build(directory / 'built')
    root = directory / 'root'
    for folder in ('bin', 'dev', 'proc', 'sys', 'run'):
        (root / folder).mkdir(parents=True)
    shutil.copy(shutil.which('busybox'), root / 'bin' / 'busybox')
    shutil.copy(jobs.compile_program(
        built, jobs.SOURCES / 'tests' / 'late.c', '-static'), root / 'bin')
    init = root / 'init'
    init.write_text(f'{_INIT}{script}\nexec sleep 100000\n')
    init.chmod(0o755)
    initrd = directory / 'initrd'
    with initrd.open('wb') as file:
        subprocess.run(['sh', '-c', 'find . | cpio -o -H newc --quiet'], cwd=root,
                       stdout=file, check=True)
    return (f"<os><type arch='x86_64' machine='pc'>hvm</type><kernel>{_kernels()[-1]}</kernel>"
            f'<initrd>{initrd}</initrd><cmdline>console=ttyS0 panic=-1</cmdline></os>')
