# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests do: through the API, and looking at the kernel."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import json
import os
import time
from typing import Any
import uuid

import openstack
import openstack.exceptions
import sqlalchemy

from demo import picture
from nova_rt import shares
from nova_rt.virt import containers
from nova_rt.virt.cgroup import dialect
from stack import cloud as stack_cloud
from stack import kernel as stack_kernel

PATIENCE = 120.0  # seconds
# Whole periods of 100 and of 200 ms, and enough of them to see a hundredth.
WINDOW_S = 6.0
WINDOWS = 3
ONE_POINT = 0.01
MICROVERSION = '2.100'


def connect(environment: Mapping[str, str]) -> openstack.connection.Connection:
    """Return a connection of the user that these variables name."""
    return openstack.connect(
        load_yaml_config=False, load_envvars=False,
        **{key.removeprefix('OS_').lower(): value
           for key, value in environment.items()
           if key != 'OS_COMPUTE_API_VERSION'})


def until(condition: Callable[[], Any], what: str,
          patience: float = PATIENCE, pause: float = 0.1) -> Any:
    """Wait for a condition and return what it returned.

    :param patience: how long, in seconds.
    :param pause: seconds between two looks.
    :raises TimeoutError: if it does not hold in time.
    """
    deadline = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f'Not within {patience:.0f} s: {what}')
        time.sleep(pause)


def assert_gets_its_shares(container: stack_kernel.Container) -> None:
    """Hold that the hogs in a container get what is reserved, not more; see assert_get()."""
    assert_get(stack_kernel.measure, container, WINDOW_S, ONE_POINT)


def assert_get(measure: Callable[[list[Any], float], Mapping[str, Mapping[int, float]]],
               reserved: picture.Reserved, seconds: float, tolerance: float) -> None:
    """Hold that a server gets what is reserved.

    One of three windows must be within the tolerance: where this machine
    itself stands still for a moment, a window lacks that time, and nothing
    on it can give it back. That is no reason for a hundredth more, in any window.

    :param measure: returns the shares of servers in a window of so many seconds
    :raises AssertionError: if none is, or one has more.
    """
    seen = []
    for _ in range(WINDOWS):
        got = measure([reserved], seconds)
        seen.append(got[reserved.server])
        if picture.farthest([reserved], got) < tolerance:
            print(f'reserved {reserved.shares}, got {seen}')
            return
        assert all(got[reserved.server][cpu] < share + ONE_POINT
                   for cpu, share in reserved.shares.items()), seen
    raise AssertionError(f'{reserved.shares} are reserved, got {seen}')


class Flavors:
    """Flavors by what they reserve."""

    def __init__(self, operator: openstack.connection.Connection) -> None:
        self._operator = operator
        self._made: dict[tuple[tuple[str, str], ...], str] = {}

    def __call__(self, runtime_us: int | None = None,
                 period_us: int = 200_000, vcpus: int = 1, ram: int = 64,
                 **more: str) -> str:
        """Return the id of a flavor, without reservation if no runtime."""
        specs = {f'hw:cpu.{name}': value for name, value in more.items()}
        if runtime_us is not None:
            specs['hw:cpu.rt_runtime_us'] = str(runtime_us)
            specs['hw:cpu.rt_period_us'] = str(period_us)
        key = (('vcpus', str(vcpus)), ('ram', str(ram)),
               *sorted(specs.items()))
        if key not in self._made:
            compute = self._operator.compute
            flavor = compute.create_flavor(
                name=f'e2e-{uuid.uuid4()}', ram=ram, vcpus=vcpus, disk=1)
            if specs:
                compute.create_flavor_extra_specs(flavor, specs)
            self._made[key] = flavor.id
        return self._made[key]


class User:
    """An ordinary user of the cloud.

    :param names: gives each server its name.
    :ivar image: what her servers boot from, unless she says so.
    :ivar networks: what her servers are connected to, as the API wants it.
    """

    patience = PATIENCE  # seconds that one of her requests may take
    image = 'busybox'
    networks: str | list[dict[str, str]] = 'none'

    def __init__(self, cloud: openstack.connection.Connection,
                 operator: openstack.connection.Connection,
                 names: Iterator[str]) -> None:
        self.cloud = cloud
        self._operator = operator
        self._names = names

    def ask(self, flavor: str, image: str | None = None,
            **hints: str) -> openstack.compute.v2.server.Server:
        """Ask for a server; hints with ``__`` for the dot in their names.

        :raises BadRequestException: if the API refuses.
        """
        body = {'server': self._wanted(flavor, image or self.image)}
        if hints:
            body['os:scheduler_hints'] = {
                name.replace('__', '.'): value
                for name, value in hints.items()}
        return self.show(self._post(body)['server']['id'])

    def ask_many(self, flavor: str, count: int) -> set[str]:
        """Ask for many servers in one request; return their ids.

        :raises ForbiddenException: if they are over the quota.
        """
        wanted = dict(self._wanted(flavor, self.image), min_count=count,
                      max_count=count, return_reservation_id=True)
        asked = self._post({'server': wanted})['reservation_id']
        # Nova moves them to their cell meanwhile, and a list that takes
        # several pages then shows one twice.
        return {each.id for each
                in self.cloud.compute.servers(reservation_id=asked)}

    def _wanted(self, flavor: str, image: str) -> dict[str, Any]:
        return {'name': next(self._names), 'flavorRef': flavor,
                'imageRef': self.cloud.image.find_image(image).id,
                'networks': self.networks}

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.cloud.compute.post(
            '/servers', json=body, microversion=MICROVERSION)
        openstack.exceptions.raise_from_response(answer)
        return dict(answer.json())

    def boot(self, *args: str, **hints: str
             ) -> openstack.compute.v2.server.Server:
        """Ask for a server, and wait until it is active."""
        return self.settled(self.ask(*args, **hints).id, 'ACTIVE')

    def show(self, server: str) -> openstack.compute.v2.server.Server:
        """Return what the API says about a server."""
        return self.cloud.compute.get_server(server)

    def settled(self, server: str, status: str
                ) -> openstack.compute.v2.server.Server:
        """Wait until no task is under way, and check the status.

        :raises AssertionError: if it is another one; with the fault.
        """
        shown = self.rested(server)
        assert shown.status == status, (shown.status, shown.fault)
        return shown

    def rested(self, server: str) -> openstack.compute.v2.server.Server:
        """Wait until no task is under way, whatever the status then is."""
        return until(lambda: self.at_rest(server),
                     f'server {server} settles', self.patience)

    def at_rest(self, server: str
                ) -> openstack.compute.v2.server.Server | None:
        """Return a server if no task is under way."""
        shown = self.show(server)
        busy = shown.task_state or shown.status in ('BUILD', 'REBOOT')
        return None if busy else shown

    def delete(self, server: str) -> None:
        """Delete a server and wait until it is gone."""
        self.cloud.compute.delete_server(server)
        self._gone(server)

    def _gone(self, server: str) -> None:
        """Wait until a server that was deleted is gone."""
        until(lambda: self.cloud.compute.find_server(server) is None,
              f'server {server} is deleted', self.patience)

    def delete_all(self) -> None:
        """Delete whatever this user has."""
        servers = [each.id for each
                   in self.cloud.compute.servers(details=False)]
        for server in servers:
            self.cloud.compute.delete_server(server)
        for server in servers:
            self._gone(server)


class ContainerUser(User):
    """A user whose servers are containers, and the kernel under them."""

    def __init__(self, cloud: openstack.connection.Connection,
                 operator: openstack.connection.Connection,
                 kernel: dialect.Dialect, names: Iterator[str]) -> None:
        super().__init__(cloud, operator, names)
        self._kernel = kernel

    def container(self, server: str) -> stack_kernel.Container:
        """Return a server's container as the kernel has it.

        :raises FileNotFoundError: if none runs.
        """
        shown = self._operator.compute.get_server(server)
        return stack_kernel.container(
            self._kernel, shown.name, shown.instance_name)

    def init_of(self, server: str) -> int:
        """Return the process that is init in a server's container."""
        group = stack_kernel.ACCOUNTING / self.container(server).group
        controller = min(map(int, (group / 'cgroup.procs').read_text().split()))
        return containers.first_process(controller)


def nothing_held(kernel: dialect.Dialect) -> bool:
    """Whether the kernel holds no budget for any container."""
    tree = kernel.tree
    return not tree.exists('machine') or not (
        any(kernel.read('machine').runtimes_us)
        or list(tree.children('machine')))


def in_containers(kernel: dialect.Dialect) -> list[int]:
    """Return by pCPU the bandwidth that all containers hold."""
    budgets = [kernel.read(group) for group in kernel.tree.children('machine')]
    return [sum(budget.bandwidths[pcpu] for budget in budgets)
            for pcpu in range(kernel.count)]


def ledger(stack: stack_cloud.Cloud) -> shares.HostShares:
    """Return what the only compute node tells the scheduler of its ledger."""
    engine = sqlalchemy.create_engine(stack.site.database('nova'))
    try:
        with engine.connect() as connection:
            stats = connection.scalar(sqlalchemy.text(
                'SELECT stats FROM compute_nodes WHERE deleted = 0'))
    finally:
        engine.dispose()
    told = shares.from_stats(json.loads(stats))
    assert told is not None, stats
    return told


def taken_back(operator: openstack.connection.Connection, service: Any,
               name: str) -> bool:
    """Force a service up, once it has given up what was evacuated from it."""
    try:
        operator.compute.update_service_forced_down(service, name, forced=False)
    except openstack.exceptions.BadRequestException as refused:
        if 'evacuation' not in str(refused):
            raise
        return False
    return True


def agreed(manage: Callable[..., tuple[int, str, str]]) -> bool:
    """Return whether an audit finds nothing.

    :param manage: runs nova-rt-manage.
    """
    status, printed, trouble = manage('audit')
    assert status in (0, 1), trouble
    assert bool(json.loads(printed)) == bool(status)
    return status == 0


def policies_in(container: stack_kernel.Container) -> set[tuple[int, int]]:
    """Return policy and priority of every process of a container."""
    pids = (stack_kernel.ACCOUNTING / container.group
            / 'cgroup.procs').read_text().split()
    return {(os.sched_getscheduler(int(pid)),
             os.sched_getparam(int(pid)).sched_priority) for pid in pids}
