# SPDX-License-Identifier: Apache-2.0
"""What the tests do with servers on nodes that are virtual machines."""

from nova_rt.sdk import proxy
from nova_rt.tests.e2e import driver
from stack.nodes import containers

WINDOW_S = 10.0  # whole periods
FIFO_10 = (1, 10)  # policy and priority of what runs in a container


def holds_nothing(node):
    """Whether the group of all containers has no budget."""
    told = node.run('cat /sys/fs/cgroup/machine.slice/cpu.rt_multi_runtime_us '
                    '|| echo 0', check=False).stdout
    # -1: it has no budget of its own.
    return not any(int(word) > 0 for word in told.split())


def agreed(manage, node, *options):
    """Whether an audit finds nothing.

    :param options: of nova-rt-manage, before the command
    """
    return manage(node, *options, 'audit') == []


class User(driver.User):
    """An ordinary user of the cloud, and the nodes' kernels under her servers.

    :param stack: the whole cloud.
    :param names: gives each server its name.
    """

    patience = 600.0  # an emulated CPU is slow, and shares its core

    def __init__(self, stack, operator, names):
        super().__init__(driver.connect(stack.environment('demo')), operator, names)
        self._stack = stack

    def host(self, server):
        """Return the number of the node that a server is on."""
        shown = self._operator.compute.get_server(server)
        return int(shown.compute_host.removeprefix('node-'))

    def boot_later(self, flavor, image):
        """Return an active server on a host that Nova may yet hold for down.

        :raises TimeoutError: if Nova does not take it for up in time.
        """
        return driver.until(lambda: self._booted(flavor, image),
                            'Nova gives the host a server again',
                            self.patience, pause=5)

    def _booted(self, flavor, image):
        shown = self.rested(self.ask(flavor, image).id)
        if shown.status == 'ACTIVE':
            return shown
        # What was being built when a service ended gets no fault from Nova.
        assert 'No valid host' in (shown.fault or {}).get(
            'message', 'No valid host'), shown.fault
        self.delete(shown.id)
        return None

    def assert_gets_its_shares(self, server, *beside):
        """Hold that a server's container gets what is reserved.

        One of three windows must be within a hundredth: a CPU whose emulator
        stands still for a moment loses that time, or is charged for it when it
        goes on, and pays it back in the next window.

        :param beside: a command to run on the node meanwhile.
        :raises AssertionError: if none is.
        """
        seen = []
        for _ in range(driver.WINDOWS):
            container = self.container(server, WINDOW_S, *beside)
            if container.farthest < driver.ONE_POINT:
                return
            seen.append(container.shares)
        raise AssertionError(f'{container.reserved} are reserved, got {seen}')

    def move_a_vcpu(self, server):
        """Move the last vCPU of a server to the first pCPU that the server has not.

        :returns: its container afterwards.
        :raises AssertionError: if that is another, or elsewhere.
        """
        before = self.container(server)
        *stay, source = before.pcpus
        target = min({0, 1, 2, 3} - set(before.pcpus))
        self._operator.add_service(proxy.SERVICE)
        self._operator.rt.move_vcpu(f'node-{self.host(server)}', server, source, target)
        after = self.container(server)
        assert after.group == before.group
        assert set(after.pcpus) == {*stay, target}
        return after

    def running(self, server):
        """Return a server's container if its hog runs, else None."""
        try:
            found = self.container(server)
        except (KeyError, OSError):
            return None
        return found if FIFO_10 in found.policies else None

    def container(self, server, seconds=0, *beside):
        """Return a server's container as its node's kernel has it.

        :param seconds: for how long to measure what it gets.
        :param beside: a command to run on the node meanwhile.
        :raises KeyError: if none runs.
        """
        shown = self._operator.compute.get_server(server)
        node = self._stack.node(self.host(server))
        return containers.look(node, seconds, *beside)[shown.instance_name]
