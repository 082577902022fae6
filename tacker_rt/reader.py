# SPDX-License-Identifier: Apache-2.0
"""Read what a VDU asks for.

All translations (tacker-rt, heat-translator, Tacker's user data) use this.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from nova_rt import criticality
from nova_rt import elastic
from nova_rt import reservation
from nova_rt import spelling
from nova_rt import wording
from tacker_rt import allocation
from tacker_rt import locations
from tacker_rt import problems
from tacker_rt import request
from tacker_rt import values

_CHECKS: Mapping[str, Callable[[str, int], None]] = {
    reservation.RUNTIME: reservation.check_runtime,
    reservation.PERIOD: reservation.check_period,
    elastic.NAME: reservation.check_runtime}
_FLAVOR = ('properties', 'flavor')
_CAPABILITY_NAME = (*locations.CAPABILITIES, 'properties',
                    'requested_additional_capability_name')
_VCPUS = (*locations.VIRTUAL_COMPUTE, 'virtual_cpu', 'num_virtual_cpu')


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    path: problems.Path
    value: values.Value
    kind: locations.Kind


def read(vdu: Mapping[str, Any],
         ) -> tuple[request.VduRequest, list[problems.Problem]]:
    """Return what a node template asks for, and all problems with it.

    A node template that is not a VDU asks for nothing. If there are problems,
    the request is incomplete.

    :param vdu: the parsed node template
    """
    known = {location.path: location for location in locations.locations(vdu)}
    wrong = list(locations.strays(vdu, known))
    entries: dict[str, list[_Entry]] = {name: [] for name in spelling.HINTS}
    for location in known.values():
        _collect(location, entries, wrong)
    hints: dict[str, Any] = {name: _agreed(name, given, wrong)
                             for name, given in entries.items() if given}
    wanted = request.VduRequest(
        runtime_us=hints.get(reservation.RUNTIME),
        period_us=hints.get(reservation.PERIOD),
        criticality=hints.get(criticality.NAME),
        min_runtime_us=hints.get(elastic.NAME),
        in_flavor=bool(hints) and all(
            entry.kind is locations.Kind.EXTRA_SPECS
            for given in entries.values() for entry in given),
        extra_specs=allocation.extra_specs(vdu, wrong),
        flavor=_flavor(vdu), size=allocation.size(vdu, wrong))
    if not wrong:
        wrong += _check_hints(vdu, wanted, entries)
        wrong += allocation.check_together(vdu, wanted)
    return wanted, wrong


def read_valid(vdu: Mapping[str, Any], path: problems.Path = ()) -> request.VduRequest:
    """Return what a node template asks for.

    :param path: of the node template, for messages
    :raises tacker_rt.problems.InvalidDescriptorError: if there is any problem with it
    """
    wanted, wrong = read(vdu)
    if wrong:
        raise problems.InvalidDescriptorError(problem.below(path) for problem in wrong)
    return wanted


def _collect(location: locations.Location, entries: dict[str, list[_Entry]],
             wrong: list[problems.Problem]) -> None:
    """Add the hints at a location to the entries."""
    if not isinstance(location.content, dict):
        if isinstance(location.content, str) and (
                location.kind is locations.Kind.EXTRA_SPECS
                and locations.mentions(location.content)):
            wrong.append(problems.Problem(
                location.path, 'This is not a JSON or YAML map of extra specs: write one.'))
        return
    prefix = (reservation.EXTRA_SPEC_PREFIX
              if location.kind is locations.Kind.EXTRA_SPECS else '')
    for key, value in location.content.items():
        path = (*location.path, key)
        if not isinstance(key, str):
            continue
        try:
            if key.startswith(prefix) and (
                    key.removeprefix(prefix) in spelling.HINTS):
                name = key.removeprefix(prefix)
                entries[name].append(_Entry(
                    path, _value(name, value), location.kind))
            elif prefix:
                spelling.check_extra_spec_names([key])
            else:
                _check_name(key)
        except reservation.InvalidReservationError as exc:
            wrong.append(problems.Problem(path, str(exc)))


def _value(name: str, value: Any) -> values.Value:
    given = values.hint(name, value)
    if isinstance(given, int):
        _CHECKS[name](name, given)
    return given


def _check_name(key: str) -> None:
    """Refuse a key that resembles one of our names but is none."""
    plain = key.removeprefix(reservation.EXTRA_SPEC_PREFIX)
    meant = plain if plain in spelling.HINTS else spelling.meant(key)
    if meant in spelling.HINTS:
        raise reservation.InvalidReservationError(
            f'There is no {wording.shown(key)} here: write {meant}.')
    if meant:
        raise reservation.InvalidReservationError(
            f'{wording.shown(key)} is not allowed here: only a flavor can '
            f'set it, as {reservation.EXTRA_SPEC_PREFIX}{meant}.')


def _agreed(name: str, entries: list[_Entry],
            wrong: list[problems.Problem]) -> values.Value:
    """Return the first value; append a problem for each that differs."""
    first = entries[0]
    for entry in entries[1:]:
        if entry.value != first.value:
            wrong.append(problems.Problem(
                entry.path, f'{name} is {_shown(entry.value)} here and '
                f'{_shown(first.value)} at {problems.dotted(first.path)}: '
                'give it once.'))
    return first.value


def _shown(value: values.Value) -> str:
    return (f'the input {wording.shown(value.name)}'
            if isinstance(value, values.Input) else str(value))


def _flavor(vdu: Mapping[str, Any]) -> str | None:
    """Return the flavor that a VDU names, in the legacy form or in Tacker's."""
    for path in (_FLAVOR, _CAPABILITY_NAME):
        name = locations.at(vdu, path)
        if isinstance(name, str) and name:
            return name
        if values.input_of(name):
            return str(name)
    return None


def _check_hints(vdu: Mapping[str, Any], wanted: request.VduRequest,
                 entries: Mapping[str, list[_Entry]]) -> list[problems.Problem]:
    """Return the problems of the hints combined."""
    for given, missing in (reservation.HINTS, reservation.HINTS[::-1],
                           (criticality.NAME, reservation.RUNTIME),
                           (elastic.NAME, reservation.RUNTIME)):
        if entries[given] and not entries[missing] and not wanted.flavor:
            return [problems.Problem(
                entries[given][0].path,
                f'{given} is given, but {missing} is not: give both.')]
    try:
        number = vcpus(vdu, wanted) if wanted.hints else 1
    except reservation.InvalidReservationError as exc:
        return [problems.Problem(_VCPUS, str(exc))]
    if not (isinstance(wanted.runtime_us, int)
            and isinstance(wanted.period_us, int)):
        return []
    try:
        reserved = reservation.Reservation(
            wanted.runtime_us, wanted.period_us,
            1 if isinstance(number, values.Input) else number)
    except reservation.InvalidReservationError as exc:
        return [problems.Problem(
            entries[reservation.RUNTIME][0].path, str(exc))]
    try:
        if isinstance(wanted.min_runtime_us, int):
            elastic.check(elastic.NAME, wanted.min_runtime_us, reserved)
    except reservation.InvalidReservationError as exc:
        return [problems.Problem(entries[elastic.NAME][0].path, str(exc))]
    return []


def vcpus(vdu: Mapping[str, Any], wanted: request.VduRequest) -> values.Number:
    """Return a VDU's number of vCPUs, 1 if it does not say.

    :raises nova_rt.reservation.InvalidReservationError: if what it says is no number
    """
    if wanted.size and wanted.size.vcpus is not None:
        return wanted.size.vcpus
    given = locations.at(vdu, _VCPUS)
    return 1 if given is None else values.number(_VCPUS[-1], given)
