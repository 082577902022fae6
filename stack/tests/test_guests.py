# SPDX-License-Identifier: Apache-2.0
"""What ends the containers of a stack."""

import subprocess

import pytest

from stack import guests
from stack import host
from stack import rundir
from stack import service

CONTROLLER = 2 ** 22 + 1  # more than the kernel gives


@pytest.fixture
def process():
    """A process that does nothing for a minute."""
    started = subprocess.Popen(['sleep', '60'])
    yield started
    started.kill()
    started.wait()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site whose libvirt recorded one controller, which was killed."""
    monkeypatch.setattr(host, 'CGROUPS', tmp_path / 'cgroup')
    monkeypatch.setattr(guests, 'PATIENCE', 0.2)
    site = service.Site(rundir.RunDir(tmp_path / 'run'))
    recorded = site.rundir.data / 'libvirt' / 'run-libvirt' / 'lxc'
    recorded.mkdir(parents=True)
    (recorded / 'instance-00000001.pid').write_text(f'{CONTROLLER}\n')
    return site


def put(process, group):
    """Make a process one of a group of containers, as a file says it."""
    path = host.CGROUPS / 'cpu' / 'machine' / group / 'libvirt'
    path.mkdir(parents=True)
    (path / 'cgroup.procs').write_text(f'{process.pid}\n')


def test_what_outlived_the_controller_of_its_container_is_ended(
        site, process):
    put(process, f'lxc-{CONTROLLER}-instance-00000001.libvirt-lxc')
    guests.end_all(site)
    assert process.wait(1) == -9


def test_a_container_of_another_libvirt_is_left_alone(site, process):
    put(process, 'lxc-4711-instance-00000001.libvirt-lxc')
    guests.end_all(site)
    assert process.poll() is None
