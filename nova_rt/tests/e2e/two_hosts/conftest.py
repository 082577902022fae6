# SPDX-License-Identifier: Apache-2.0
"""A stack with two hosts of virtual machines on this machine, each with some of its pCPUs.

NOVA_RT_HOSTS_RUN_DIR names the run directory of one that is up already: the tests
then use it and leave it running.
"""

import itertools

import pytest

from nova_rt.tests.e2e import stacks
from nova_rt.tests.e2e.cloud_of_machines import machine_user
from nova_rt.tests.e2e.two_hosts import pair

_names = map('moved-{}'.format, itertools.count(1))


@pytest.fixture(scope='session')
def stack():
    """A real OpenStack with two hosts of virtual machines; skips where there can be none."""
    with stacks.running('hosts', virt_type='qemu', hosts=2) as cloud:
        yield cloud


@pytest.fixture
def user(stack, operator):
    """An ordinary user, whose servers are deleted after the test."""
    with machine_user.of(stack, operator, _names) as user:
        yield user


@pytest.fixture
def hosts(stack, operator, user, manage):
    """The two hosts, of which nothing is allocated when all servers are deleted."""
    hosts = pair.Hosts(stack, operator, user, manage)
    yield hosts
    user.delete_all()
    hosts.assert_hold({1: 0, 2: 0})
