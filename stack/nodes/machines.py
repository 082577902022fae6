# SPDX-License-Identifier: Apache-2.0
"""The virtual machines of a node, as its kernel shows them."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import json
from typing import Any

from stack import vcpus
from stack.nodes.machine import Machine

# Seconds that a look may take beyond the measurement.
PATIENCE = 120
# The node's path of the program that looks.
PROGRAM = '/srv/node/look_at_machines.py'


def look(node: Machine) -> dict[str, vcpus.Machine]:
    """Return the virtual machines by the name of their domain, which is that of each."""
    return {name: vcpus.Machine(name, _by_pcpu(fields['shares']), _by_pcpu(fields['threads']))
            for name, fields in _looked(node, 0).items()}


def measuring(node: Machine, *beside: str) -> Callable[
        [Iterable[vcpus.Machine], float], dict[str, dict[int, float]]]:
    """Return a function that does on a node what ``vcpus.measure`` does here.

    :param beside: a command to run on the node meanwhile.
    """
    def measure(machines: Iterable[vcpus.Machine], seconds: float,
                ) -> dict[str, dict[int, float]]:
        looked = _looked(node, seconds, *beside)
        return {machine.server: _by_pcpu(looked[machine.server]['got'])
                for machine in machines}

    return measure


def _looked(node: Machine, seconds: float, *beside: str) -> Mapping[str, dict[str, Any]]:
    result: Mapping[str, dict[str, Any]] = json.loads(node.run(
        'python3', PROGRAM, str(seconds), *beside, patience=seconds + PATIENCE).stdout)
    return result


def _by_pcpu(values: Mapping[str, Any]) -> dict[int, Any]:
    """Return the values by number: the keys of JSON are strings."""
    return {int(pcpu): value for pcpu, value in values.items()}
