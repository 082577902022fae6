# SPDX-License-Identifier: Apache-2.0
"""Tables and bars that the demo prints."""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Protocol

from nova_rt import bandwidth
from nova_rt import bars


class Reserved(Protocol):
    """A server's container or virtual machine."""

    @property
    def server(self) -> str:
        """The server's name."""

    @property
    def shares(self) -> dict[int, float]:
        """Bandwidth reserved by pCPU, as fractions."""


def host(containers: Iterable[Reserved], cap: float) -> str:
    """Return a bar per pCPU: the shares of the servers, and what is left."""
    containers = list(containers)
    capacity = bandwidth.fraction_to_bandwidth(cap)
    lines = []
    for cpu in sorted({cpu for container in containers for cpu in container.shares}):
        held = [(container.server, bandwidth.fraction_to_bandwidth(container.shares[cpu]))
                for container in containers if cpu in container.shares]
        left = capacity - sum(share for _, share in held)
        lines.append(f'  {bars.bar(cpu, capacity, left, held)}')
    return '\n'.join(lines)


def comparison(
    containers: Iterable[Reserved],
    measured: Mapping[str, Mapping[int, float]],
) -> str:
    """Return a table of reserved and measured shares, by server and pCPU."""
    lines = ['  server     pCPU   reserved   measured   difference']
    for container in containers:
        for cpu, reserved in container.shares.items():
            got = measured[container.server][cpu]
            lines.append(
                f'  {container.server:10} {cpu:4}   {reserved:8.2%}   {got:8.2%}   '
                f'{(got - reserved) * 100:+7.2f} points')
    return '\n'.join(lines)


def farthest(
    containers: Iterable[Reserved],
    measured: Mapping[str, Mapping[int, float]],
) -> float:
    """Return the largest distance between reserved and measured share."""
    return max(
        abs(measured[container.server][cpu] - reserved)
        for container in containers for cpu, reserved in container.shares.items())
