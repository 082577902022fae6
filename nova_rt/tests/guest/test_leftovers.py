# SPDX-License-Identifier: Apache-2.0
"""Nothing is left on the machine of nodes, however their stack ends."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack import prerequisites
from stack import processes
from stack import rundir
from stack import service

pytestmark = full.only

NODES_DEVICE = pathlib.Path('/sys/class/net/tap-node-1')


def names_of_qemu(site):
    """Return the command of each virtual machine of a stack."""
    return [processes.command_line(pid)[2] for pid in site.processes.marked()
            if 'qemu-system' in ''.join(processes.command_line(pid)[:1])]


@pytest.fixture
def site(tmp_path_factory):
    """The site of a stack that is to have one node."""
    if reason := prerequisites.missing_for_nodes(['network']):
        pytest.skip(reason)
    return service.Site(rundir.RunDir(tmp_path_factory.mktemp('s')))


@pytest.fixture
def launcher(site):
    """The process that starts that stack; its node boots."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'stack', '--run-dir',
         os.fspath(site.rundir.path), 'up', '--nodes', '1',
         '--with', 'network'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        driver.until(lambda: names_of_qemu(site), 'a node boots',
                     patience=300)
        yield process
    finally:
        process.kill()
        process.wait()
        stack_cloud.Cloud(site).down()


def check_that_nothing_is_left(site):
    """Only the logs stay, no process and no network device."""
    assert not NODES_DEVICE.exists()
    assert site.processes.marked() == []
    assert [each.name for each in site.rundir.path.iterdir()] == ['log']


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_stack_that_is_interrupted_while_its_node_boots_leaves_nothing(
        site, launcher, number):
    launcher.send_signal(number)
    assert launcher.wait(120) == 130
    check_that_nothing_is_left(site)


def test_a_stack_whose_launcher_was_killed_is_given_back_by_down(
        site, launcher):
    launcher.kill()
    launcher.wait()
    assert stack_cloud.Cloud(service.Site.of(site.rundir)).down() == []
    check_that_nothing_is_left(site)
