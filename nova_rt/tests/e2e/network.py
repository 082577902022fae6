# SPDX-License-Identifier: Apache-2.0
"""Who answers whom: from containers, and from outside of the cloud."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import subprocess

import openstack

from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack.services import openvswitch

# Runs a command, whatever its exit status, and captures what it prints.
Run = Callable[..., 'subprocess.CompletedProcess[str]']

# The port of a server, as its container has it: the images bring it up, and
# answer there with its address.
FIRST, SECOND = 'eth0', 'eth1'


class Place:
    """Where commands run: a container, or the outside.

    :param prefix: what goes before a command to run it there.
    :param run: runs a command on the container's host.
    """

    def __init__(self, *prefix: str, run: Run | None = None) -> None:
        self._prefix = prefix
        self._run_on_host = run or _run_here

    def pings(self, address: str) -> bool:
        """Whether an address answers a ping within a second."""
        return self._run('ping', '-c', '1', '-W', '1', address) is not None

    def asks(self, address: str, device: str) -> str | None:
        """Return what is answered over TCP for a device, None if nothing."""
        return self._run('wget', '-q', '-O', '-', f'http://{address}/{device}')

    def reaches(self, address: str, device: str) -> None:
        """Wait until an address answers, to ping and over TCP.

        :raises TimeoutError: if it does not.
        """
        driver.until(lambda: self.pings(address), f'{address} answers a ping')
        driver.until(lambda: self.asks(address, device) == address,
                     f'{address} answers over TCP with its own address')

    def _run(self, *command: str) -> str | None:
        done = self._run_on_host(
            *self._prefix, 'timeout', '3', 'busybox', *command)
        return None if done.returncode else done.stdout.strip()


def _run_here(*command: str) -> 'subprocess.CompletedProcess[str]':
    return subprocess.run(command, capture_output=True, text=True, check=False)


def outside(stack: stack_cloud.Cloud) -> Place:
    """Return the outside of a stack."""
    return Place(*openvswitch.outside(stack.site))


@contextlib.contextmanager
def let_in(user: openstack.connection.Connection,
           *protocols: str) -> Iterator[None]:
    """Let protocols into the user's default security group for a while."""
    project = user.current_project_id
    group = user.network.find_security_group('default', project_id=project)
    rules = [user.network.create_security_group_rule(
        security_group_id=group.id, direction='ingress', ether_type='IPv4',
        protocol=protocol) for protocol in protocols]
    try:
        yield
    finally:
        for rule in rules:
            user.network.delete_security_group_rule(rule)
