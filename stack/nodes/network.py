# SPDX-License-Identifier: Apache-2.0
"""What joins a node to the network of the cloud: a wire, and Neutron's agent."""

from stack.nodes.machine import Machine
from stack.nodes.service import NodeService
from stack.service import Service
from stack.service import Site
from stack.services import libvirt
from stack.services import neutron
from stack.services import openvswitch


class Wire(Service):
    """A port of the bridge to the outside, for a node's third card.

    It is there before the machine is, and stays while that is restarted. Up
    before the switch reads its flags: see ``openvswitch.KEEP_UP``.

    :param machine: the node's.
    """

    needs = (openvswitch.OpenVSwitch.name,)

    def __init__(self, site: Site, machine: Machine) -> None:
        super().__init__(site)
        self._device = machine.tap
        self.name = machine.wire

    def start(self) -> None:
        """Create the device and put it into the bridge."""
        for command in (
                ('ip', 'tuntap', 'add', self._device, 'mode', 'tap'),
                ('ip', 'link', 'set', self._device, 'up'),
                ('ovs-vsctl', '--timeout=60', 'add-port',
                 openvswitch.PROVIDER, self._device)):
            self.site.processes.run(
                self.name, libvirt.inside(self.site, *command))


class NodeAgent(NodeService):
    """The agent for Open vSwitch in a node, as Neutron sees it."""

    def __init__(self, site: Site, machine: Machine) -> None:
        super().__init__(site, machine)
        self.name = machine.agent
        self.needs = (machine.name, neutron.Neutron.name,
                      neutron.NeutronRpc.name, 'catalogue')

    def ready(self) -> bool:
        """Whether it reports to Neutron."""
        return any(agent.is_alive for agent in neutron.agents(
            self.site, neutron.OvsAgent.name, host=self.machine.name))
