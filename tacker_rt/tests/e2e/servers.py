# SPDX-License-Identifier: Apache-2.0
"""What servers have: as Nova shows it, and as the kernel has it."""

import dataclasses
import json

import openstack

from nova_rt.virt.cgroup import dialect
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

    def _container(self, shown) -> stack_kernel.Container:
        return stack_kernel.container(
            self._kernel, shown['name'],
            shown['OS-EXT-SRV-ATTR:instance_name'])

    def _show(self, server: str):
        return json.loads(self._client.run(
            f'server show {server} -f json'))
