# SPDX-License-Identifier: Apache-2.0
"""The disk that a container's root is mounted from.

Nova forgets it when it moves a container: it copies what the domain lists as
disks, of which a container has none; its root is a mounted directory. The file
would be left behind, and recreated from the image.
"""

from __future__ import annotations

import os
from typing import Any

from nova import exception
from nova import objects
from nova.virt.libvirt import utils as libvirt_utils
from oslo_config import cfg

CONF = cfg.CONF

_NAME = 'disk'
# The kinds whose file is the root itself, without another below it.
_COPIED = ('raw', 'flat', 'default')


def check_movable(instance: objects.Instance) -> None:
    """Refuse to move a container whose disk would be left behind.

    :raises InstanceFaultRollback: before anything was touched
    """
    kind = CONF.libvirt.images_type
    if kind not in _COPIED or CONF.use_cow_images:
        raise exception.InstanceFaultRollback(
            exception.MigrationPreCheckError(reason=(
                'the disk of a container can be moved only as a raw file: '
                'set [libvirt] images_type to raw and use_cow_images to '
                'false.')))
    if not os.path.exists(_path(instance)):
        raise exception.InstanceFaultRollback(
            exception.MigrationPreCheckError(reason=(
                f'the disk {_path(instance)} of the container is missing, '
                'and would be recreated from the image.')))


def disk_info(instance: objects.Instance) -> list[dict[str, Any]]:
    """Return the disk as LibvirtDriver._get_instance_disk_info() lists disks."""
    path = _path(instance)
    if not os.path.exists(path):
        return []
    size, used = os.path.getsize(path), os.stat(path).st_blocks * 512
    return [{
        'type': 'raw', 'path': path, 'virt_disk_size': size,
        'backing_file': '', 'disk_size': used,
        'over_committed_disk_size': size - used}]


def _path(instance: objects.Instance) -> str:
    return os.path.join(libvirt_utils.get_instance_path(instance), _NAME)
