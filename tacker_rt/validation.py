# SPDX-License-Identifier: Apache-2.0
"""All problems with the reservations of one descriptor."""

from collections.abc import Iterator
from collections.abc import Mapping
import difflib
from typing import Any

from nova_rt import reservation
from nova_rt import wording
from tacker_rt import locations
from tacker_rt import problems
from tacker_rt import reader
from tacker_rt import request
from tacker_rt import values

TOPOLOGY = 'topology_template'
TEMPLATES = 'node_templates'
INPUTS = 'inputs'
_TYPES = '_types'
# Sections where names are the author's, or are read only where they are used.
_FREE = (INPUTS, 'outputs', 'dsl_definitions', 'metadata')


def validate(content: Any) -> tuple[dict[str, request.VduRequest],
                                 list[problems.Problem]]:
    """Return what the VDUs of a descriptor ask for, and all problems.

    :param content: the descriptor as YAML gives it
    """
    wrong = list(_shape(content))
    if wrong:
        return {}, wrong
    topology = content.get(TOPOLOGY) or {}
    wanted = {}
    for name, node in (topology.get(TEMPLATES) or {}).items():
        path = (TOPOLOGY, TEMPLATES, name)
        if not isinstance(name, str):
            wrong.append(problems.Problem(path, (
                'The name of a node must be text: write it in quotes.')))
        elif not isinstance(node, dict):
            wrong += _strays(node, path)
        else:
            wanted[name], issues = reader.read(node)
            wrong += [problem.below(path) for problem in issues or _inputs(
                wanted[name], topology.get(INPUTS) or {})]
    wrong += _elsewhere(content, ())
    wrong += _elsewhere(topology, (TOPOLOGY,))
    return wanted, wrong


def _shape(content: Any) -> Iterator[problems.Problem]:
    """Yield the problems that make a descriptor unreadable."""
    if not isinstance(content, dict):
        yield problems.Problem((), (
            f'This is not TOSCA: give a map that contains {TOPOLOGY}.'))
        return
    topology = content.get(TOPOLOGY)
    for path, value in (
            ((TOPOLOGY,), topology),
            ((TOPOLOGY, TEMPLATES), locations.at(topology, (TEMPLATES,))),
            ((TOPOLOGY, INPUTS), locations.at(topology, (INPUTS,)))):
        if value is not None and not isinstance(value, dict):
            yield problems.Problem(path, 'This must be a map.')


def _elsewhere(content: Mapping[str, Any], path: problems.Path,
               ) -> Iterator[problems.Problem]:
    """Yield a problem for each of our names outside node templates."""
    for key, value in content.items():
        if key in (TOPOLOGY, TEMPLATES, *_FREE) or str(key).endswith(_TYPES):
            continue
        yield from _strays({key: value}, path)


def _strays(value: Any, path: problems.Path) -> Iterator[problems.Problem]:
    return (problem.below(path) for problem in locations.strays(value, {}))


def _inputs(wanted: request.VduRequest,
            inputs: Mapping[str, Any]) -> list[problems.Problem]:
    """Return the problems with the inputs from which a VDU takes values."""
    known: dict[str, int | str] = {}
    try:
        for name, value in wanted.hints.items():
            default = (_default(name, value, inputs)
                       if isinstance(value, values.Input) else value)
            if default is not None:
                known[name] = default
        times = reservation.times_from_hints(known)
        if times.runtime_us is not None and times.period_us is not None:
            reservation.Reservation(times.runtime_us, times.period_us, 1)
    except reservation.InvalidReservationError as exc:
        return [problems.Problem((), str(exc))]
    return []


def _default(name: str, value: values.Input,
             inputs: Mapping[str, Any]) -> int | str | None:
    """Return the default of an input that gives a hint, None if it has none."""
    if value.name not in inputs:
        close = difflib.get_close_matches(
            value.name[:64], [str(name) for name in inputs], n=1)
        raise reservation.InvalidReservationError(
            f'There is no input {wording.shown(value.name)}: '
            + (f'did you mean {close[0]}?' if close
               else f'add it under {TOPOLOGY}.{INPUTS}.'))
    definition = inputs[value.name]
    default = definition.get('default') if isinstance(
        definition, dict) else None
    if default is None:
        return None
    return values.known(name, default, f'The input {value.name}')


