# SPDX-License-Identifier: Apache-2.0
"""Who answers whom: from containers, and from outside of the cloud."""

from collections.abc import Sequence
import pathlib
import subprocess

from demo import kernel as demo_kernel
from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack.services import openvswitch
from tacker_rt.tests.e2e import servers

# The port of a server, as its container has it: the images bring it up, and
# answer there with its address.
FIRST, SECOND = 'eth0', 'eth1'


class Place:
    """Where commands run: a container, or the outside.

    :param prefix: what goes before a command to run it there.
    """

    def __init__(self, prefix: Sequence[str]) -> None:
        self._prefix = prefix

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
        done = subprocess.run(
            (*self._prefix, 'timeout', '3', 'busybox', *command),
            capture_output=True, text=True, check=False)
        return None if done.returncode else done.stdout.strip()


def outside(stack: stack_cloud.Cloud) -> Place:
    """Return the outside of a stack."""
    return Place(openvswitch.outside(stack.site))


def inside(observer: servers.Observer, server: str) -> Place:
    """Return the network of a server's container."""
    group = demo_kernel.ACCOUNTING / observer.container(server).group
    init = next(
        pid for pid in (group / 'cgroup.procs').read_text().split()
        if _is_init(pid))
    return Place(('nsenter', f'--net=/proc/{init}/ns/net'))


def _is_init(pid: str) -> bool:
    """Whether a process is the first in its namespace, as that counts them."""
    status = pathlib.Path('/proc', pid, 'status').read_text().splitlines()
    seen = next(line for line in status if line.startswith('NSpid:'))
    return seen.split()[-1] == '1'
