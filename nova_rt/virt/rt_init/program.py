# SPDX-License-Identifier: Apache-2.0
"""Where rt-init is: as it was built, on a host, and in a container."""

import filecmp
import os
import pathlib
import shutil

# As setup.py builds it.
BUILT = pathlib.Path(__file__).with_name('rt-init')

# Where a container sees it, and so what the kernel calls its first process
# until that becomes the real init.
INSIDE = '/.nova-rt-init'
COMM = pathlib.PurePath(INSIDE).name


def on_host(instances: str) -> pathlib.Path:
    """Return where libvirt finds it, to bind it into containers.

    It lies with the containers' roots: where nova-rt-compute and libvirtd are in
    containers of their own, as with Kolla, libvirtd has no nova-rt. And it stays
    there when nova-rt is reinstalled.

    :param instances: Nova's directory of instances
    """
    return pathlib.Path(instances, 'rt-init')


def install(instances: str) -> None:
    """Put it where libvirt finds it; running containers keep theirs.

    :param instances: Nova's directory of instances
    :raises OSError: if it cannot be written or executed there
    """
    path = on_host(instances)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not (path.exists() and filecmp.cmp(BUILT, path, shallow=False)):
        copy = path.with_name(f'.{path.name}.{os.getpid()}')
        shutil.copy(BUILT, copy)
        copy.replace(path)
    if not os.access(path, os.X_OK):
        raise PermissionError(f'{path} cannot be executed')
