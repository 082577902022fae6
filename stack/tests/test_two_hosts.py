# SPDX-License-Identifier: Apache-2.0
"""What two hosts of one machine need of the machine itself."""

import os
import subprocess

import pytest

from stack import own_groups
from stack import rundir
from stack import service
from stack.services import hosts
from stack.services import libvirt
from stack.services import second_host


@pytest.fixture
def site(tmp_path):
    """Two hosts whose mount namespace is that of this process."""
    if os.geteuid() != 0:
        pytest.skip('only root may enter a mount namespace')
    site = service.Site(rundir.RunDir(tmp_path / 'run'), virt_type='qemu', hosts=2)
    second_host.write_commands(site)
    (site.rundir.data / f'mounted-{libvirt.address(2)}').write_text(f'{os.getpid()}\n')
    return site


def between(site, command, *arguments):
    return subprocess.run((hosts.between(site) / command, *arguments), check=False).returncode


def test_a_command_runs_on_the_other_host_and_its_status_comes_back(site, tmp_path):
    made = tmp_path / 'made'
    assert between(site, 'ssh', '-o', 'BatchMode=yes', libvirt.address(2), 'touch', made) == 0
    assert made.exists()
    assert between(site, 'ssh', libvirt.address(2), 'false') == 1


def test_a_host_that_does_not_run_cannot_be_reached(site, tmp_path):
    made = tmp_path / 'made'
    assert between(site, 'ssh', libvirt.address(1), 'touch', made) != 0
    assert not made.exists()


def test_a_disk_is_copied_with_its_holes(site, tmp_path):
    disk, copy = tmp_path / 'disk', tmp_path / 'copy of it'
    disk.write_bytes(b'nova-rt')
    os.truncate(disk, 1 << 24)
    assert between(site, 'scp', '-C', '-r', disk, f'{libvirt.address(2)}:{copy}') == 0
    assert copy.read_bytes() == disk.read_bytes()
    assert copy.stat().st_blocks * 512 < 1 << 20


def test_a_group_is_made_in_every_hierarchy_and_removed_with_those_below(
        tmp_path, monkeypatch):
    monkeypatch.setattr(own_groups, 'CGROUPS', tmp_path)
    for name in ('cpu', 'memory'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'tasks').touch()
    groups = own_groups.make('ours')
    assert sorted(groups) == [tmp_path / 'cpu' / 'ours', tmp_path / 'memory' / 'ours']
    (groups[0] / 'machine' / 'qemu-1').mkdir(parents=True)
    assert own_groups.remove(groups) == []
    assert not [group for group in groups if group.exists()]


def test_a_group_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(own_groups, 'PATIENCE', 0)
    (tmp_path / 'busy').mkdir()
    (tmp_path / 'busy' / 'file').touch()
    assert own_groups.remove([tmp_path / 'busy']) == [
        f'{tmp_path}/busy could not be removed.']
