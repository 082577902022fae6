# SPDX-License-Identifier: Apache-2.0
"""Compute nodes in virtual machines, on our kernel."""

from stack.nodes.compute import NodeCompute
from stack.nodes.machine import Machine
from stack.nodes.machine import NodeImage
from stack.nodes.network import NodeAgent
from stack.nodes.network import Wire
from stack.service import Service
from stack.service import Site

__all__ = ['MOST', 'Machine', 'services']

# As many as have ports and addresses.
MOST = 2


def services(site: Site) -> list[Service]:
    """Return the parts of all nodes that the site has."""
    machines = [Machine(site, number + 1) for number in range(site.nodes)]
    parts = [NodeCompute, *((Wire, NodeAgent) if site.has_network else ())]
    return [NodeImage(site), *machines,
            *(part(site, machine) for part in parts for machine in machines)]
