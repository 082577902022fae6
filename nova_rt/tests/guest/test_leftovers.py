# SPDX-License-Identifier: Apache-2.0
"""Nothing is left on the machine of nodes, however their stack ends."""

import os
import signal
import subprocess
import sys

import pytest

from demo import hcbs
from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack import procfs
from stack import rundir
from stack import service


def names_of_qemu(site):
    """Return the command of each virtual machine of a stack."""
    return [procfs.command(pid)[2] for pid in site.processes.marked()
            if 'qemu-system' in ''.join(procfs.command(pid)[:1])]


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_stack_that_is_interrupted_while_its_node_boots_leaves_nothing(
        tmp_path_factory, number):
    if hcbs.why_not():
        pytest.skip(hcbs.why_not())
    path = tmp_path_factory.mktemp('s')
    site = service.Site(rundir.RunDir(path))
    process = subprocess.Popen(
        [sys.executable, '-m', 'stack', '--run-dir', os.fspath(path), 'up',
         '--nodes', '1'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        driver.until(lambda: names_of_qemu(site), 'a node boots',
                     patience=300)
        process.send_signal(number)
        assert process.wait(120) == 130
    finally:
        process.kill()
        stack_cloud.Cloud(site).down()
    assert site.processes.marked() == []
    assert [each.name for each in path.iterdir()] == ['log']


def test_a_stack_whose_launcher_was_killed_is_given_back_by_down(
        tmp_path_factory):
    if hcbs.why_not():
        pytest.skip(hcbs.why_not())
    path = tmp_path_factory.mktemp('s')
    site = service.Site(rundir.RunDir(path))
    process = subprocess.Popen(
        [sys.executable, '-m', 'stack', '--run-dir', os.fspath(path), 'up',
         '--nodes', '1'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    driver.until(lambda: names_of_qemu(site), 'a node boots', patience=300)
    process.kill()
    process.wait()
    assert stack_cloud.Cloud(service.Site.of(site.rundir)).down() == []
    assert site.processes.marked() == []
    assert [each.name for each in path.iterdir()] == ['log']
