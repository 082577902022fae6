# SPDX-License-Identifier: Apache-2.0
"""Compute nodes in virtual machines, on our kernel."""

from stack.nodes.compute import NodeCompute
from stack.nodes.machine import Machine
from stack.nodes.machine import NodeImage
from stack.service import Service
from stack.service import Site

# As many as have ports and addresses.
MOST = 2


def services(site: Site) -> list[Service]:
    """Return the parts of all nodes that the site has."""
    machines = [Machine(site, number + 1) for number in range(site.nodes)]
    return [NodeImage(site), *machines,
            *(NodeCompute(site, machine) for machine in machines)]
