# SPDX-License-Identifier: Apache-2.0
"""What the stack checks of the machine."""

import pytest

from stack import host
from stack.errors import StackError

MACHINE = '26 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n'
PROC = '27 26 0:24 / /proc rw - proc proc rw\n'
CHROOT = '131 111 0:42 / /proc rw,relatime - proc proc rw\n'


@pytest.fixture
def complete(monkeypatch):
    """A machine where root finds everything installed."""
    monkeypatch.setattr(host.os, 'geteuid', lambda: 0)
    monkeypatch.setattr(host.shutil, 'which', lambda command: command)
    monkeypatch.setattr(host, 'libvirt_driver', lambda name: name)
    monkeypatch.setattr(host, 'machine_groups', list)


@pytest.mark.parametrize(('mounts', 'refused'), [(MACHINE + PROC, False), (CHROOT, True)])
def test_a_chroot_that_is_no_mount_point_is_refused_in_one_sentence(
        complete, monkeypatch, tmp_path, mounts, refused):
    (tmp_path / 'mountinfo').write_text(mounts)
    monkeypatch.setattr(host, 'MOUNTS', tmp_path / 'mountinfo')
    if refused:
        with pytest.raises(StackError, match='mount --bind FOLDER FOLDER'):
            host.check(machines=True)
    else:
        host.check(machines=True)


def test_nodes_in_virtual_machines_need_no_mount_namespace(complete, monkeypatch, tmp_path):
    (tmp_path / 'mountinfo').write_text(CHROOT)
    monkeypatch.setattr(host, 'MOUNTS', tmp_path / 'mountinfo')
    host.check(nodes=True)
