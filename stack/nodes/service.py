# SPDX-License-Identifier: Apache-2.0
"""A service in a node, as the control plane sees it."""

from stack.nodes.machine import Machine
from stack.service import Service
from stack.service import Site


class NodeService(Service):
    """A service that a node's machine starts by itself; start() only waits for it.

    :param machine: the node's.
    """

    def __init__(self, site: Site, machine: Machine) -> None:
        super().__init__(site)
        self.machine = machine

    def start(self) -> None:
        """Wait for it; see base class."""
        self.machine.wait(self.ready)
