# SPDX-License-Identifier: Apache-2.0
"""The compute service in a node, as the control plane sees it."""


from stack.nodes.machine import Machine
from stack.nodes.service import NodeService
from stack.service import Site
from stack.services import keystone


class NodeCompute(NodeService):
    """A node that has joined: servers can be created there."""

    def __init__(self, site: Site, machine: Machine) -> None:
        super().__init__(site, machine)
        self.name = f'{machine.name}-compute'
        self.needs = (
            machine.name, 'nova-api', 'catalogue', 'placement', 'images',
            'nova-scheduler', 'nova-conductor',
            *((machine.agent,) if site.has_network else ()))

    def ready(self) -> bool:
        """Whether it reports to the database, and is mapped to a cell."""
        host = self.machine.name
        compute = keystone.cloud(self.site).compute
        return any(
            service.state == 'up' for service in
            compute.services(binary='nova-compute', host=host)
        ) and any(hypervisor.name == host
                  for hypervisor in compute.hypervisors())
