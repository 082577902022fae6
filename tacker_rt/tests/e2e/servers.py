# SPDX-License-Identifier: Apache-2.0
"""What servers have: as Nova shows it, and as the kernel has it."""

from collections.abc import Iterator
import contextlib
import dataclasses
import json
import pathlib
import threading

import openstack
import openstack.compute.v2.server

from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import errors
from stack import kernel as stack_kernel
from stack.services import neutron
from tacker_rt.tests.e2e import client

RUNTIME, PERIOD = 'hw:cpu.rt_runtime_us', 'hw:cpu.rt_period_us'


@dataclasses.dataclass(frozen=True)
class Held:
    """A reservation that both Nova and the kernel know of."""

    runtime_us: int
    period_us: int
    vcpus: int


class Observer:
    """Looks at servers with the administrator's eyes."""

    def __init__(self, admin: client.Client,
                 kernel: dialect.Dialect) -> None:
        self._client = admin
        self._kernel = kernel

    @property
    def cloud(self) -> openstack.connection.Connection:
        """The administrator's connection."""
        return self._client.cloud

    def held(self, server: str) -> Held | None:
        """Return the reservation of a server, None if it carries none.

        :raises AssertionError: if Nova and the kernel differ.
        """
        shown = self._show(server)
        specs = shown['flavor']['extra_specs']
        container = self._container(shown)
        budget = self._kernel.read(container.group)
        if RUNTIME not in specs:
            assert not set(budget.runtimes_us) - {0}, budget
            return None
        held = Held(int(specs[RUNTIME]), int(specs[PERIOD]),
                    shown['flavor']['vcpus'])
        assert budget.period_us == held.period_us
        assert {budget.runtimes_us[cpu] for cpu in container.shares} == {
            held.runtime_us}
        assert len(container.shares) == held.vcpus
        return held

    @contextlib.contextmanager
    def watching(self) -> Iterator['Watch']:
        """Sample all servers in the meantime."""
        watch = Watch(self, {server.id for server in self.ever()})
        watch.start()
        try:
            yield watch
        finally:
            watch.end()

    def ever(self) -> list[openstack.compute.v2.server.Server]:
        """Return all servers, those that were deleted too."""
        return [server for deleted in (False, True)
                for server in self.cloud.compute.servers(
                    all_projects=True, deleted_only=deleted)]

    def at_rest(self) -> dict[str, openstack.compute.v2.server.Server]:
        """Return the servers that run and that Nova does nothing to, by id."""
        return {server.id: server for server in self.cloud.compute.servers(
            all_projects=True, status='ACTIVE') if not server.task_state}

    def in_kernel(self, server: openstack.compute.v2.server.Server) -> set[int]:
        """Return the runtimes of a server's container, 0 left out.

        :raises FileNotFoundError, MissingControlFileError: if it does not run
        """
        container = stack_kernel.container(
            self._kernel, server.name, server.instance_name)
        return set(self._kernel.read(container.group).runtimes_us) - {0}

    def hints(self, server: str) -> dict[str, list[str]]:
        """Return a server's hints, as Nova shows them."""
        hints: dict[str, list[str]] = self._show(server)['scheduler_hints']
        return hints

    def addresses(self, server: str) -> dict[str, str]:
        """Return a server's addresses: outside, and inside its VNF."""
        return {
            'outside' if name == neutron.PHYSICAL else 'inside': addresses[0]
            for name, addresses in self._show(server)['addresses'].items()}

    def container(self, server: str) -> stack_kernel.Container:
        """Return a server's container as the kernel has it."""
        return self._container(self._show(server))

    def runtime(self, server: str) -> int | None:
        """Return the runtime in µs that Nova shows of a server, None without one."""
        return runtime(self.cloud.compute.get_server(server))

    def init_of(self, server: str) -> str:
        """Return the id of the first process in a server's container."""
        group = stack_kernel.ACCOUNTING / self.container(server).group
        return next(pid for pid in (group / 'cgroup.procs').read_text().split()
                    if _is_init(pid))

    def _container(self, shown) -> stack_kernel.Container:
        return stack_kernel.container(
            self._kernel, shown['name'],
            shown['OS-EXT-SRV-ATTR:instance_name'])

    def _show(self, server: str):
        return json.loads(self._client.run(
            f'server show {server} -f json'))


@dataclasses.dataclass(frozen=True)
class Sample:
    """What a running server had at one moment.

    :ivar runtime_us: as Nova shows it, None without a reservation
    :ivar kernel_us: the runtimes that the kernel gave its container
    """

    server: str
    name: str
    runtime_us: int | None
    kernel_us: frozenset[int]


class Watch(threading.Thread):
    """Samples what every running server has, again and again.

    :param before: servers that are not its concern
    """

    def __init__(self, observer: Observer, before: set[str]) -> None:
        super().__init__(name='watch', daemon=True)
        self._observer = observer
        self._before = before
        self._ended = threading.Event()
        self.samples: list[Sample] = []
        self.trouble: Exception | None = None

    def run(self) -> None:
        """Sample until the end."""
        try:
            while not self._ended.wait(0.2):
                self.samples += self._sample()
        except Exception as exc:
            self.trouble = exc

    def end(self) -> None:
        """Stop, and fail if sampling did."""
        self._ended.set()
        self.join()
        if self.trouble is not None:
            raise self.trouble

    def made(self) -> list[openstack.compute.v2.server.Server]:
        """Return all servers that were made since it began, deleted or not."""
        return [server for server in self._observer.ever()
                if server.id not in self._before]

    def _sample(self) -> list[Sample]:
        servers = self._observer.at_rest()
        runtimes = {}
        for ident, server in servers.items():
            with contextlib.suppress(FileNotFoundError, errors.MissingControlFileError):
                runtimes[ident] = frozenset(self._observer.in_kernel(server))
        # Whatever happened to a server in between was no rest.
        still = self._observer.at_rest()
        return [Sample(ident, servers[ident].name, runtime(servers[ident]), kernel)
                for ident, kernel in runtimes.items() if ident in still]


def _is_init(pid: str) -> bool:
    """Whether a process is the first in its namespace, as that counts them."""
    status = pathlib.Path('/proc', pid, 'status').read_text().splitlines()
    seen = next(line for line in status if line.startswith('NSpid:'))
    return seen.split()[-1] == '1'


def runtime(server: openstack.compute.v2.server.Server) -> int | None:
    """Return the runtime in µs that a server's reservation has, None without one."""
    text = server.flavor.extra_specs.get(RUNTIME)
    return None if text is None else int(text)
