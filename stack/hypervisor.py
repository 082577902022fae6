# SPDX-License-Identifier: Apache-2.0
"""Which of Nova's virt_types runs virtual machines here: kvm or qemu."""

import contextlib
import os
from pathlib import Path
import subprocess
import time

from stack.image import build

PATIENCE = 5.0  # seconds in which a guest must say its word


def virt_type(disk: Path) -> str:
    """Return ``kvm`` if a guest of KVM says its word within seconds, else ``qemu``.

    That ``/dev/kvm`` can be opened does not say that guests run. The guest has all of the
    host's CPU, which Nova gives to guests by default: KVM inside a virtual machine may offer
    features that QEMU then cannot set.

    :param disk: as :func:`stack.image.build.build_machine` makes it.
    """
    if not Path('/dev/kvm').exists():
        return 'qemu'
    command = ('qemu-system-x86_64', '-accel', 'kvm', '-cpu', 'host', '-m', '32', '-nodefaults',
               '-display', 'none', '-serial', 'stdio', '-no-reboot', '-snapshot', '-drive',
               f'file={disk},format=raw')
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as guest:
        try:
            return 'kvm' if _says_word(guest) else 'qemu'
        finally:
            guest.kill()


def _says_word(guest: 'subprocess.Popen[bytes]') -> bool:
    if guest.stdout is None:
        return False
    stream = guest.stdout.fileno()
    os.set_blocking(stream, False)
    said = b''
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and guest.poll() is None:
        with contextlib.suppress(BlockingIOError):
            said += os.read(stream, 4096)
        if build.WORD in said:
            return True
        time.sleep(0.05)
    return False
