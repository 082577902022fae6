# SPDX-License-Identifier: Apache-2.0
"""Two compute nodes with our kernel, and the control plane, for all tests.

NOVA_RT_GUEST_RUN_DIR names the run directory of a stack that is up already:
the tests then use it and leave it running.
"""

import itertools
import json

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import stacks
from nova_rt.tests.guest import cloud as guest_cloud


@pytest.fixture(scope='session')
def stack():
    """A real OpenStack whose compute nodes are virtual machines."""
    with stacks.running('guest', more=['network'], nodes=2) as cloud:
        yield cloud


@pytest.fixture(scope='session')
def operator(stack):
    """The administrator's side of the API."""
    return driver.connect(stack.environment('admin'))


@pytest.fixture(scope='session')
def flavors(operator):
    """Makes flavors by what they reserve; the same one only once."""
    return driver.Flavors(operator)


@pytest.fixture(scope='session')
def _names():
    return map('guest-{}'.format, itertools.count(1))


@pytest.fixture
def user(stack, operator, _names):
    """An ordinary user, whose servers are deleted after the test."""
    user = guest_cloud.User(stack, operator, _names)
    yield user
    user.delete_all()


@pytest.fixture
def alone(operator):
    """Keeps all but the first node from getting servers."""
    others = [each for each in operator.compute.services(binary='nova-compute')
              if each.host != 'node-1']
    for each in others:
        operator.compute.disable_service(each)
    yield
    for each in others:
        operator.compute.enable_service(each)


@pytest.fixture(scope='session')
def nodes(stack):
    """The virtual machines."""
    return [stack.node(number + 1) for number in range(stack.site.nodes)]


@pytest.fixture(scope='session')
def manage():
    """Runs nova-rt-manage on a node; returns the rows that it prints."""
    def run(node, *arguments):
        done = node.run('nova-rt-manage', '--config-file',
                        '/etc/nova/nova.conf', *arguments, '-f', 'json',
                        check=False)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)
    return run
