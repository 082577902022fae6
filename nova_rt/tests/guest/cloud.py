# SPDX-License-Identifier: Apache-2.0
"""What the tests do with servers on nodes that are virtual machines."""

from nova_rt.tests.e2e import driver
from stack.nodes import containers


class User(driver.User):
    """An ordinary user of the cloud, and the nodes' kernels under her servers.

    :param stack: the whole cloud.
    :param names: gives each server its name.
    """

    def __init__(self, stack, operator, names):
        super().__init__(driver.connect(stack.environment('demo')), operator,
                         None, names)
        self._stack = stack

    def host(self, server):
        """Return the number of the node that a server is on."""
        shown = self._operator.compute.get_server(server)
        return int(shown.compute_host.removeprefix('node-'))

    def container(self, server, seconds=0, *beside):
        """Return a server's container as its node's kernel has it.

        :param seconds: for how long to measure what it gets.
        :param beside: a command to run on the node meanwhile.
        :raises KeyError: if none runs.
        """
        shown = self._operator.compute.get_server(server)
        node = self._stack.node(self.host(server))
        return containers.look(node, seconds, *beside)[shown.instance_name]
