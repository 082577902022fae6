# SPDX-License-Identifier: Apache-2.0
"""Ports of real Neutron come and go; the vCPUs keep their reservation."""

import pytest

from nova_rt.tests.e2e import driver
from stack import machines
from stack.services import neutron

SHARE = 0.2
OTHER = 0


@pytest.fixture
def network(operator):
    """The id of the network that all share."""
    return operator.network.find_network(neutron.PHYSICAL, ignore_missing=False).id


@pytest.fixture
def server(user, flavors):
    """A server with 20% of a pCPU, without a port."""
    return user.boot(flavors(40_000))


def test_a_port_that_is_attached_and_detached_leaves_the_vcpu_its_reservation(
        stack, user, server, network):
    before = user.machine(server.id)
    compute = user.cloud.compute
    port = compute.create_server_interface(server.id, net_id=network).port_id
    driver.until(lambda: user.cloud.network.get_port(port).status == 'ACTIVE',
                 'the port is active')
    assert user.machine(server.id) == before
    assert machines.policies_besides(before) == {OTHER}
    compute.delete_server_interface(port, server=server.id)
    driver.until(lambda: not [*compute.server_interfaces(server.id)], 'the port is gone')
    assert user.machine(server.id) == before
    assert machines.policies_besides(before) == {OTHER}


def test_a_server_with_a_port_has_its_reservation_after_a_hard_reboot(
        user, server, network):
    user.cloud.compute.create_server_interface(server.id, net_id=network)
    user.cloud.compute.reboot_server(server.id, 'HARD')
    user.settled(server.id, 'ACTIVE')
    machine = user.machine(server.id)
    assert {*machine.shares.values()} == {SHARE}
    assert machines.policies_besides(machine) == {OTHER}
