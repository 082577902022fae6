# SPDX-License-Identifier: Apache-2.0
"""The containers of two nodes on the network."""

import shlex

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import network
from stack.services import neutron

pytestmark = full.only

INSIDE = 'guest-inside'
# The container's init, as its own namespace counts it, among those of a group.
INIT = r"""
for pid in $(cat /sys/fs/cgroup/{group}/cgroup.procs); do
    if grep -q '^NSpid:.*[[:space:]]1$' /proc/$pid/status; then echo $pid; fi
done
"""


@pytest.fixture
def connected(user):
    """The user, whose servers have a port outside and one of her own network."""
    inside = user.cloud.network.create_network(name=INSIDE)
    user.cloud.network.create_subnet(
        network_id=inside.id, ip_version=4, cidr='10.61.0.0/24')
    outside = user.cloud.network.find_network(neutron.PHYSICAL)
    user.networks = [{'uuid': outside.id}, {'uuid': inside.id}]
    yield user
    user.delete_all()
    user.cloud.network.delete_network(inside)


def test_containers_of_two_nodes_answer_each_other_and_whom_a_rule_lets_in(
        connected, flavors, stack, nodes):
    servers = [connected.boot(flavors(120_000, vcpus=4)) for _ in nodes]
    assert {connected.host(each.id) for each in servers} == {1, 2}
    for one, other in (servers, servers[::-1]):
        inside(connected, stack, one).reaches(
            address(other, INSIDE), network.SECOND)
    outside = network.outside(stack)
    wanted = address(servers[0], neutron.PHYSICAL)
    assert not outside.pings(wanted)
    with network.let_in(connected.cloud, 'icmp', 'tcp'):
        for each in servers:
            outside.reaches(address(each, neutron.PHYSICAL), network.FIRST)
        assert not outside.pings(address(servers[0], INSIDE))


def address(server, name):
    """Return a server's only address on a network."""
    found, = server.addresses[name]
    return found['addr']


def inside(user, stack, server):
    """Return the network of a server's container."""
    node = stack.node(user.host(server.id))
    group = user.container(server.id).group
    init = node.run(INIT.format(group=shlex.quote(group))).stdout.strip()

    def run(*command):
        return node.run(*command, check=False)
    return network.Place('nsenter', f'--net=/proc/{init}/ns/net', run=run)
