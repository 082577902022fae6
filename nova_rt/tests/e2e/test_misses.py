# SPDX-License-Identifier: Apache-2.0
"""An application in a container misses its deadlines, and its server is lent what is free."""

import shutil
import subprocess

import pytest

from nova_rt.testing import jobs
from nova_rt.tests.e2e import driver

MISSING_S = 3
RUNTIME_US, PERIOD_US = 30_000, 100_000
IN_CONTAINER = ('nsenter', '--mount', '--pid', '--target')


@pytest.fixture
def late(tmp_path):
    """A static program that misses deadlines, and then meets them."""
    return jobs.compile_program(
        jobs.build(tmp_path / 'built'), jobs.SOURCES / 'tests' / 'late.c', '-static')


def runtime_of(kernel, container):
    """Return the runtime that the kernel has for a container on its pCPU."""
    (pcpu,) = container.shares
    return kernel.read(container.group).runtimes_us[pcpu]


def events_of(user, server):
    """Return what ``openstack server event list`` has of loans, the oldest first."""
    answer = user.cloud.compute.get(f'/servers/{server}/os-instance-actions').json()
    return [each['message'] for each in reversed(answer['instanceActions'])
            if each['action'] == 'rt_loan']


def test_a_server_that_misses_deadlines_is_helped_and_its_user_told(
        user, flavors, kernel, manage, late):
    server = user.boot(flavors(RUNTIME_US, PERIOD_US))
    container = user.container(server.id)
    assert runtime_of(kernel, container) == RUNTIME_US
    init = str(user.init_of(server.id))
    subprocess.run((*IN_CONTAINER, init, 'mount', '-t', 'tmpfs', 'tmpfs', '/run'), check=True)
    shutil.copy(late, f'/proc/{init}/root/run/late')
    running = subprocess.Popen((*IN_CONTAINER, init, '/run/late', str(MISSING_S)))
    try:
        driver.until(lambda: runtime_of(kernel, container) > RUNTIME_US, 'it is lent something')
        # It is nobody's reservation: no drift, and nothing in the ledger.
        status, told, _ = manage('audit')
        assert status == 0, told
        driver.until(lambda: runtime_of(kernel, container) == RUNTIME_US, 'it is given back')
        assert running.poll() is None
    finally:
        running.kill()
        running.wait()
    driver.until(lambda: len(events_of(user, server.id)) == 2, 'both are told')
    lent, back = events_of(user, server.id)
    assert lent.startswith('It missed 3 deadlines or more within 1 s: up to ')
    assert back == 'What was lent to it has been given back.'
