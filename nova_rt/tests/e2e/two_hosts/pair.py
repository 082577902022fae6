# SPDX-License-Identifier: Apache-2.0
"""The two hosts: what is moved between them, and what each has."""

from collections.abc import Callable
from collections.abc import Mapping
from concurrent import futures
import functools
from typing import Any

import openstack
import openstack.exceptions

from nova_rt import bandwidth
from nova_rt import shares
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e.cloud_of_machines import machine_user
from stack import cloud as stack_cloud
from stack import guests
from stack import machines
from stack import vcpus
from stack.services import hosts
from stack.services import libvirt

OVER = ('completed', 'failed', 'error', 'cancelled')


class Hosts:
    """Two hosts of virtual machines, numbered 1 and 2.

    :param manage: runs nova-rt-manage on the host with a number
    """

    def __init__(self, stack: stack_cloud.Cloud, operator: openstack.connection.Connection,
                 user: machine_user.MachineUser,
                 manage: Callable[..., tuple[int, str, str]]) -> None:
        self._stack, self._operator, self._user = stack, operator, user
        self._manage = manage

    def of(self, server: str) -> int:
        """Return which host Nova has a server on."""
        return hosts.number(self._operator.compute.get_server(server).compute_host)

    def begin_live(self, server: str) -> None:
        """Have a server go to the other host while it runs."""
        # The SDK asks with an old microversion, whose answer is that of the scheduler.
        openstack.exceptions.raise_from_response(self._operator.compute.post(
            f'/servers/{server}/action', microversion=driver.MICROVERSION,
            json={'os-migrateLive': {
                'host': hosts.name(3 - self.of(server)), 'block_migration': 'auto'}}))

    def migrate_live(self, server: str) -> str:
        """Have it go there and wait until it has, or has not; return how it ended."""
        before = {migration.id for migration in self._migrations(server)}

        def status() -> str | None:
            # Nova has not noted it yet when it answers.
            return next((migration.status for migration in self._migrations(server)
                         if migration.id not in before and migration.status in OVER), None)
        self.begin_live(server)
        found: str = driver.until(status, 'the migration ends')
        self._user.rested(server)
        return found

    def _migrations(self, server: str) -> list[Any]:
        return list(self._operator.compute.migrations(server_id=server))

    def reasons(self, server: str) -> list[str]:
        """Return why the last action on a server failed, as Nova shows it."""
        path = f'/servers/{server}/os-instance-actions'
        action, *_ = self._ask(path)['instanceActions']
        shown = self._ask(f'{path}/{action["request_id"]}')['instanceAction']
        return [event['details'] for event in shown['events'] if event.get('details')]

    def _ask(self, path: str) -> Any:
        return self._operator.compute.get(path, microversion=driver.MICROVERSION).json()

    def compute(self, number: int) -> str:
        """Return the name of a host's compute service in the stack."""
        return libvirt.of_host('nova-compute', number)

    def service(self, number: int) -> Any:
        """Return a host's compute service in Nova."""
        return next(self._operator.compute.services(
            binary='nova-compute', host=hosts.name(number)))

    def machine(self, server: str, number: int) -> vcpus.Machine:
        """Return a server's virtual machine on a host.

        :raises FileNotFoundError: if none runs there
        """
        return self.sight(server, number)()

    def sight(self, server: str, number: int) -> Callable[[], vcpus.Machine]:
        """Return what looks at it again and again, without asking Nova."""
        shown = self._operator.compute.get_server(server)
        return functools.partial(
            machines.machine, self._stack.site, shown.name, shown.instance_name, number)

    def kill(self, server: str, number: int) -> None:
        """Kill a server's QEMU on a host."""
        machines.kill(self._stack.site, self.machine(server, number))

    def assert_only_on(self, number: int, server: str, share: float,
                       tidy: bool = True) -> None:
        """Hold that a server has its share on one host, and nothing on the other.

        :param tidy: whether the other has nothing of its disk either
        """
        assert self.of(server) == number
        assert not self.has_domain(server, 3 - number)
        found = self.machine(server, number).shares
        assert {*found} <= {*hosts.pcpus(number)}
        assert {*found.values()} == {share}
        assert self._files(number, server)
        assert not tidy or not self._files(3 - number, server)
        amount = bandwidth.to_bandwidth(round(share * 100_000), 100_000) * len(found)
        self.assert_hold({number: amount, 3 - number: 0})
        self.assert_agreed()

    def has_domain(self, server: str, number: int) -> bool:
        """Whether the libvirt of a host knows a server."""
        domain = self._operator.compute.get_server(server).instance_name
        return domain in guests.virsh(
            self._stack.site, number, 'list', '--all', '--name').split()

    def assert_hold(self, amounts: Mapping[int, int]) -> None:
        """Hold that Placement has so much of each host's share allocated."""
        driver.until(lambda: {number: self._allocated(number) for number in amounts}
                     == amounts, f'Placement has {amounts}')

    def assert_agreed(self) -> None:
        """Hold that an audit finds nothing on either host."""
        def agree(number: int) -> None:
            audit = functools.partial(self._manage, number=number)
            driver.until(lambda: driver.agreed(audit), f'all agree on host {number}')

        with futures.ThreadPoolExecutor() as both:
            for _ in both.map(agree, (1, 2)):
                pass

    def _files(self, number: int, server: str) -> list[str]:
        instances = hosts.nova(self._stack.site, number) / 'instances'
        return [path.name for path in instances.glob(f'{server}*')]

    def _allocated(self, number: int) -> int:
        provider = next(
            each.id for each in self._operator.compute.hypervisors(details=True)
            if each.service_details['host'] == hosts.name(number))
        answer = self._operator.placement.get(f'/resource_providers/{provider}/usages')
        return int(answer.json()['usages'][shares.RESOURCE_CLASS])
