# SPDX-License-Identifier: Apache-2.0
"""One real stack for all end-to-end tests, and what they do with it.

NOVA_RT_E2E_RUN_DIR names the run directory of a stack that is up already: the
tests then use it and leave it running.
"""

import itertools
import subprocess
import sys

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import stacks
from stack import kernel as stack_kernel
from stack.services import libvirt
from stack.services import nova

# Threads may take names at once, which no generator allows.
_names = map('e2e-{}'.format, itertools.count(1))


@pytest.fixture(scope='session')
def stack():
    """A real OpenStack, on loopback; skips where there can be none."""
    with stacks.running('e2e') as cloud:
        yield cloud


@pytest.fixture(scope='session')
def kernel(stack):
    """The kernel's dialect."""
    return stack_kernel.spoken()


@pytest.fixture(scope='session')
def operator(stack):
    """The administrator's side of the API."""
    return driver.connect(stack.environment('admin'))


@pytest.fixture(scope='session')
def flavors(operator):
    """Makes flavors by what they reserve; the same one only once."""
    return driver.Flavors(operator)


@pytest.fixture
def user(stack, operator, kernel):
    """An ordinary user, whose servers are deleted after the test."""
    user = driver.ContainerUser(
        driver.connect(stack.environment('demo')), operator, kernel, _names)
    yield user
    user.delete_all()


@pytest.fixture(scope='session')
def manage(stack):
    """Runs nova-rt-manage with the configuration of a host of the stack."""
    def run(*arguments, number=1):
        done = subprocess.run(
            libvirt.inside(
                stack.site, sys.executable, '-m', 'nova_rt.cmd.manage',
                *nova.arguments(stack.site, number), *arguments, '-f', 'json',
                number=number),
            capture_output=True, text=True, timeout=driver.PATIENCE,
            check=False)
        return done.returncode, done.stdout, done.stderr
    return run


@pytest.fixture
def nova_manage(stack):
    """Runs nova-manage with the stack's configuration."""
    def run(*arguments):
        config = stack.site.rundir.etc / 'nova' / 'nova.conf'
        return subprocess.run(
            [sys.executable, '-m', 'nova.cmd.manage', '--config-file',
             str(config), *arguments],
            capture_output=True, text=True, timeout=driver.PATIENCE,
            check=False)
    return run


@pytest.fixture
def no_quota(operator, user):
    """Lets the user's project ask for as much as it likes."""
    project = user.cloud.current_project_id
    operator.compute.update_quota_set(
        project, instances=-1, cores=-1, ram=-1)
    yield
    operator.compute.revert_quota_set(project)
