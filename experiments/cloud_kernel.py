# SPDX-License-Identifier: Apache-2.0
"""Debian's kernel for virtual machines, as Debian builds it."""

import functools
import os
from pathlib import Path
import re
import shutil
import subprocess
import tempfile

from experiments import guest

PACKAGE = 'linux-image-cloud-amd64'


@functools.cache
def image() -> Path:
    """Return the newest image that apt knows; download it if it is missing.

    It is kept where ``kernel/build`` keeps what it builds, and not installed.

    :raises guest.GuestError: if apt does not have it
    """
    home = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    cache = Path(os.environ.get('NOVA_RT_CACHE') or home / 'nova-rt') / 'kernel'
    package = _newest()
    path = cache / package.replace('linux-image', 'vmlinuz')
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _call(['apt-get', 'download', '-qq', package], folder)
            (archive,) = Path(folder).glob('*.deb')
            _call(['dpkg-deb', '--extract', archive.name, 'root'], folder)
            (found,) = Path(folder, 'root', 'boot').glob('vmlinuz-*')
            shutil.move(found, path)
    return path


def _newest() -> str:
    """Return the package with the image that the other one depends on."""
    found = re.search(r'Depends: (linux-image-\S+)', _call(['apt-cache', 'depends', PACKAGE]))
    if found is None:
        raise guest.GuestError(f'apt knows no {PACKAGE}: run "apt-get update".')
    return found[1]


def _call(command: list[str], folder: str = '/') -> str:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise guest.GuestError(f'{" ".join(command)} failed: {done.stdout.strip()[-300:]}')
    return done.stdout
