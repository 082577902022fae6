# SPDX-License-Identifier: Apache-2.0
"""Add the reservations of a VNFD to the Heat templates of its package.

Tacker's version 2 deploys the templates in a VNF package, and takes only
images, flavor names and networks from the VNFD.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from nova_rt import reservation
from nova_rt import wording
from tacker_rt import hot
from tacker_rt import problems
from tacker_rt import reader
from tacker_rt import values

Hints = dict[str, int | str]
VDU_TYPE = 'tosca.nodes.nfv.Vdu.Compute'


def reservations(topology: Mapping[str, Any], given: Mapping[str, Any],
                 stored: Mapping[str, Hints]) -> dict[str, Hints]:
    """Return the scheduler hints by VDU, for the VDUs that have any.

    :param topology: the topology template of the deployment flavour
    :param given: this request's values of inputs, by name
    :param stored: the result of this function at instantiation
    :raises tacker_rt.problems.InvalidDescriptorError: if a VDU asks for an
        invalid reservation, or an input has no value
    """
    hints = {}
    for name, node in (topology.get('node_templates') or {}).items():
        path = ('topology_template', 'node_templates', name)
        wanted = reader.read_valid(node, path)
        of_node = {key: _value(key, value, topology, given, stored.get(name, {}).get(key))
                   for key, value in wanted.hints.items()}
        if of_node:
            _check(of_node, path)
            hints[name] = of_node
    return hints


def _value(name: str, value: values.Value, topology: Mapping[str, Any],
           given: Mapping[str, Any], stored: int | str | None) -> int | str:
    if not isinstance(value, values.Input):
        return value
    definition = (topology.get('inputs') or {}).get(value.name) or {}
    for candidate in (given.get(value.name), stored, definition.get('default')):
        if candidate is not None:
            return values.known(name, candidate, value.name)
    raise problems.InvalidDescriptorError([problems.Problem((), (
        f'The input {wording.shown(value.name)} has no value: give it in '
        'additionalParams, or a default in the VNFD.'))])


def _check(hints: Hints, path: problems.Path) -> None:
    """Check a reservation after its inputs have their values."""
    try:
        parsed = reservation.times_from_hints(hints)
        if parsed.runtime_us is not None and parsed.period_us is not None:
            reservation.Reservation(parsed.runtime_us, parsed.period_us, 1)
    except reservation.InvalidReservationError as exc:
        raise problems.InvalidDescriptorError(
            [problems.Problem(path, str(exc))]) from exc


def nodes(topology: Mapping[str, Any]) -> Collection[str]:
    """Return the names of all nodes, with or without a reservation."""
    return topology.get('node_templates') or {}


def add_hints(templates: Iterable[Any], wanted: Mapping[str, Hints],
         others: Collection[str]) -> set[str]:
    """Add hints to the servers in templates; return the VDUs that have a server.

    :param templates: parsed Heat templates; changed in place
    :param others: the names of all nodes
    :raises tacker_rt.problems.InvalidDescriptorError: if a template contradicts
        the hints, or computes its own so that none can be added
    """
    served = set()
    for template in templates:
        if not isinstance(template, dict):
            continue
        for vdu, server in hot.servers(template, wanted, others):
            _add_to_server(vdu, server, wanted[vdu])
            served.add(vdu)
    return served


def _add_to_server(vdu: str, server: dict[str, Any], wanted: Hints) -> None:
    properties = server.setdefault('properties', {})
    hints = properties.get(hot.HINTS) or {}
    path = ('resources', vdu, 'properties', hot.HINTS)
    if not isinstance(hints, dict) or any(
            str(key).startswith(('get_', 'map_', 'yaql')) for key in hints):
        raise problems.InvalidDescriptorError([problems.Problem(path, (
            'The reservation in the VNFD cannot be added to computed '
            'hints: write the hints out as a map.'))])
    for name, value in wanted.items():
        if name in hints and str(hints[name]) != str(value):
            raise problems.InvalidDescriptorError([problems.Problem(path, (
                f'{name} is {wording.shown(hints[name])} here and '
                f'{value} in the VNFD: give it once.'))])
    properties[hot.HINTS] = {**hints, **wanted}


def refuse_missing(wanted: Mapping[str, Hints], served: set[str]) -> None:
    """Refuse a VDU that has a reservation but no server in any template.

    :raises tacker_rt.problems.InvalidDescriptorError: if there is one
    """
    missing = [vdu for vdu in wanted if vdu not in served]
    if missing:
        raise problems.InvalidDescriptorError(problems.Problem(
            ('topology_template', 'node_templates', vdu), (
                'This VDU asks for a reservation, but the base HOT of the '
                f'package has no {hot.SERVER} of this name.'))
            for vdu in missing)
