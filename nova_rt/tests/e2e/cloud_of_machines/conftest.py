# SPDX-License-Identifier: Apache-2.0
"""The same stack with virtual machines, and with Neutron, Heat and Tacker.

NOVA_RT_MACHINES_RUN_DIR names the run directory of one that is up already: the tests
then use it and leave it running.
"""

import itertools

import pytest

from nova_rt.tests.e2e import stacks
from nova_rt.tests.e2e.cloud_of_machines import machine_user

_names = map('machine-{}'.format, itertools.count(1))


@pytest.fixture(scope='session')
def stack():
    """A real OpenStack whose servers QEMU emulates; skips where there can be none."""
    with stacks.running('machines', more=('mano', 'network'), virt_type='qemu') as cloud:
        yield cloud


@pytest.fixture
def user(stack, operator):
    """An ordinary user, whose servers are deleted after the test."""
    with machine_user.of(stack, operator, _names) as user:
        yield user
