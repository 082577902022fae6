# SPDX-License-Identifier: Apache-2.0
"""The containers of a node, as its kernel shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
import json
from typing import Any

from stack.nodes.machine import Machine

# Seconds that look() may take beyond the measurement.
PATIENCE = 120
# The node's path of the program that look() runs.
PROGRAM = '/srv/node/look.py'


@dataclass(frozen=True)
class Container:
    """A running container.

    :ivar group: of the cpu controller; it has its processes.
    :ivar dialect: which the node's kernel speaks.
    :ivar runtimes_us: by pCPU.
    :ivar pcpus: where its processes may run.
    :ivar policies: policy and priority of its threads.
    :ivar shares: by pCPU, what it got meanwhile, as a fraction; empty if
        nothing was measured.
    """

    group: str
    dialect: str
    period_us: int
    runtimes_us: tuple[int, ...]
    pcpus: tuple[int, ...]
    policies: frozenset[tuple[int, int]]
    shares: tuple[float, ...] = ()

    @property
    def reserved(self) -> tuple[float, ...]:
        """By pCPU, the bandwidth as a fraction."""
        return tuple(runtime_us / self.period_us for runtime_us in self.runtimes_us)

    @property
    def farthest(self) -> float:
        """The largest distance between due and measured on a pCPU.

        On its pCPUs what is reserved is due, and nothing elsewhere, where the kernel may
        have the same runtime for it.
        """
        return max(abs(got - reserved * (pcpu in self.pcpus)) for pcpu, (got, reserved)
                   in enumerate(zip(self.shares, self.reserved, strict=True)))


def look(node: Machine, seconds: float = 0,
         *beside: str) -> Mapping[str, Container]:
    """Return the containers by the name of their domain.

    :param seconds: for how long to measure, 0 for not at all.
    :param beside: a command to run meanwhile, in the root group.
    :raises CalledProcessError: if the node has no control groups to look at.
    """
    return parse(node.run('python3', PROGRAM, str(seconds), *beside,
                          patience=seconds + PATIENCE).stdout)


def parse(text: str) -> Mapping[str, Container]:
    """Return the containers in what ``look.py`` printed on a node."""
    return {name: _container(fields)
            for name, fields in json.loads(text).items()}


def _container(fields: dict[str, Any]) -> Container:
    policies = frozenset((policy, priority)
                         for policy, priority in fields.pop('policies'))
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in fields.items()}
    return Container(policies=policies, **values)
