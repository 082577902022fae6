# SPDX-License-Identifier: Apache-2.0
"""What joins a node to the network of the cloud: a wire, and Neutron's agent."""

import contextlib

from stack.errors import StackError
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


# Seconds that the agent takes to report at most, where it does.
REPORTS_WITHIN = 420


class NodeAgent(NodeService):
    """The agent for Open vSwitch in a node, as Neutron sees it."""

    def __init__(self, site: Site, machine: Machine) -> None:
        super().__init__(site, machine)
        self.name = machine.agent
        self.needs = (machine.name, neutron.Neutron.name,
                      neutron.NeutronRpc.name, 'catalogue')

    def start(self) -> None:
        """Wait for it; if it does not report, start it once more.

        A thread of os-ken 4.2 ends without a word at any error, as ``TaskExit`` is
        ``Exception`` with native threads (os_ken/lib/hub.py, ``_event_loop()`` in
        base/app_manager.py). The agent then waits for that thread's answer for ever.
        """
        with contextlib.suppress(StackError):
            self.machine.wait(self.ready, REPORTS_WITHIN)
            return
        self.machine.run('systemctl', 'restart', neutron.OvsAgent.name, check=False)
        super().start()

    def ready(self) -> bool:
        """Whether it reports to Neutron."""
        return any(agent.is_alive for agent in neutron.agents(
            self.site, neutron.OvsAgent.name, host=self.machine.name))
