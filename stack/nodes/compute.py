# SPDX-License-Identifier: Apache-2.0
"""The compute service in a node, as the control plane sees it."""

from typing import Any

from stack.nodes.machine import Machine
from stack.service import Service
from stack.service import Site
from stack.services import keystone


class NodeCompute(Service):
    """A node that has joined: servers can be created there.

    Its machine starts the service by itself, which waits for the control plane.

    :param machine: the node's.
    """

    def __init__(self, site: Site, machine: Machine) -> None:
        super().__init__(site)
        self.machine = machine
        self.name = f'{machine.name}-compute'
        self.needs = (
            machine.name, 'nova-api', 'catalogue', 'placement', 'images',
            'nova-scheduler', 'nova-conductor',
            *((f'{machine.name}-agent',) if site.has_network else ()))

    def start(self) -> None:
        """Wait for it; see base class."""
        self.machine.wait(self.ready)

    def ready(self) -> bool:
        """Whether it reports to the database, and is mapped to a cell."""
        host = self.machine.name
        return (
            any(one['state'] == 'up' for one in
                self._get(f'/os-services?binary=nova-compute&host={host}')
                ['services'])
            and any(one['hypervisor_hostname'] == host for one in
                    self._get('/os-hypervisors')['hypervisors']))

    def _get(self, path: str) -> Any:
        return keystone.connect(self.site).get(
            path, endpoint_filter={'service_type': 'compute'}).json()
