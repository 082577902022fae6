# SPDX-License-Identifier: Apache-2.0
"""One compute node with Debian's own kernel, whose servers are virtual machines.

NOVA_RT_DEBIAN_RUN_DIR names the run directory of a stack that is up already: the tests
then use it and leave it running.
"""

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import stacks
from stack.image import build
from stack.nodes import machines

# A pCPU waits for this machine's processors, and a vCPU for its firmware.
BURNS = 0.9
GLANCE_S = 2.0


class User(driver.User):
    """An ordinary user, and the node's kernel under her servers.

    :param node: where they run.
    """

    image = build.MACHINE
    patience = 600.0  # an emulated CPU is slow, and shares its core

    def __init__(self, stack, operator, names):
        super().__init__(driver.connect(stack.environment('demo')), operator, names)
        self.node = stack.node(1)

    def machine(self, server):
        """Return a server's virtual machine, once all its vCPUs burn CPU."""
        name = self._operator.compute.get_server(server).instance_name
        machine = machines.look(self.node)[name]
        driver.until(lambda: self._burns(machine), f'the vCPUs of {name} burn', self.patience)
        return machine

    def _burns(self, machine):
        got = machines.measuring(self.node)([machine], GLANCE_S)[machine.server]
        return all(got[pcpu] > BURNS * share for pcpu, share in machine.shares.items())


@pytest.fixture(scope='session')
def stack():
    """A real OpenStack with Heat and Tacker, whose compute node is a virtual machine."""
    with stacks.running('debian', ('mano', 'network'), nodes=1, virt_type='qemu') as cloud:
        yield cloud


@pytest.fixture
def user(stack, operator, _names):
    """An ordinary user, whose servers are deleted after the test."""
    user = User(stack, operator, _names)
    yield user
    user.delete_all()
