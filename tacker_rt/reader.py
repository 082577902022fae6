# SPDX-License-Identifier: Apache-2.0
"""The one place that reads from a VDU what it asks for.

Whoever translates (tacker-rt, heat-translator, Tacker's user data) asks here.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

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
    reservation.PERIOD: reservation.check_period}
_FLAVOR = ('properties', 'flavor')
_CAPABILITY_NAME = (*locations.CAPABILITIES, 'properties',
                    'requested_additional_capability_name')
_VCPUS = (*locations.VIRTUAL_COMPUTE, 'virtual_cpu', 'num_virtual_cpu')


@dataclasses.dataclass(frozen=True, slots=True)
class _Found:
    path: problems.Path
    value: values.Number
    kind: locations.Kind


def read(vdu: Mapping[str, Any],
         ) -> tuple[request.VduRequest, list[problems.Problem]]:
    """Return what a node template asks for, and all that is wrong with it.

    A node template that is no VDU asks for nothing. While there are
    problems, what is returned beside them is incomplete.

    :param vdu: the node template as YAML gives it
    """
    known = {each.path: each for each in locations.locations(vdu)}
    wrong = list(locations.strays(vdu, known))
    found: dict[str, list[_Found]] = {name: [] for name in reservation.HINTS}
    for location in known.values():
        _collect(location, found, wrong)
    times = {name: _agreed(name, each, wrong)
             for name, each in found.items() if each}
    wanted = request.VduRequest(
        runtime_us=times.get(reservation.RUNTIME),
        period_us=times.get(reservation.PERIOD),
        in_flavor=bool(times) and all(
            each.kind is locations.Kind.EXTRA_SPECS
            for some in found.values() for each in some),
        extra_specs=allocation.extra_specs(vdu, wrong),
        flavor=_flavor(vdu), size=allocation.size(vdu, wrong))
    if not wrong:
        wrong += _together(vdu, wanted, found)
        wrong += allocation.together(vdu, wanted)
    return wanted, wrong


def read_valid(vdu: Mapping[str, Any], path: problems.Path = ()) -> request.VduRequest:
    """Return what a node template asks for.

    :param path: of the node template, for the sentences
    :raises tacker_rt.problems.InvalidDescriptorError: if anything is wrong with it
    """
    wanted, wrong = read(vdu)
    if wrong:
        raise problems.InvalidDescriptorError(each.below(path) for each in wrong)
    return wanted


def _collect(location: locations.Location, found: dict[str, list[_Found]],
             wrong: list[problems.Problem]) -> None:
    """Add what a location gives to what was found."""
    if not isinstance(location.content, dict):
        if isinstance(location.content, str) and (
                location.kind is locations.Kind.EXTRA_SPECS
                and locations.mentions(location.content)):
            wrong.append(problems.Problem(
                location.path, 'This is no JSON or YAML map of extra specs.'))
        return
    prefix = (reservation.EXTRA_SPEC_PREFIX
              if location.kind is locations.Kind.EXTRA_SPECS else '')
    for key, value in location.content.items():
        path = (*location.path, key)
        if not isinstance(key, str):
            continue
        try:
            if key.startswith(prefix) and (
                    key.removeprefix(prefix) in reservation.HINTS):
                name = key.removeprefix(prefix)
                found[name].append(_Found(
                    path, _time(name, value), location.kind))
            elif prefix:
                spelling.check_extra_spec_names([key])
            else:
                _check_name(key)
        except reservation.InvalidReservationError as error:
            wrong.append(problems.Problem(path, str(error)))


def _time(name: str, value: Any) -> values.Number:
    given = values.number(name, value)
    if isinstance(given, int):
        _CHECKS[name](name, given)
    return given


def _check_name(key: str) -> None:
    """Refuse a key that looks like a name of ours but is not."""
    plain = key.removeprefix(reservation.EXTRA_SPEC_PREFIX)
    meant = plain if plain in reservation.HINTS else spelling.meant(key)
    if meant in reservation.HINTS:
        raise reservation.InvalidReservationError(
            f'There is no {wording.shown(key)} here: write {meant}.')
    if meant:
        raise reservation.InvalidReservationError(
            f'{wording.shown(key)} cannot stand here: only a flavor can '
            f'say it, as {reservation.EXTRA_SPEC_PREFIX}{meant}.')


def _agreed(name: str, found: list[_Found],
            wrong: list[problems.Problem]) -> values.Number:
    """Return the one value given, however often."""
    first = found[0]
    for other in found[1:]:
        if other.value != first.value:
            wrong.append(problems.Problem(
                other.path, f'{name} is {_shown(other.value)} here and '
                f'{_shown(first.value)} at {problems.dotted(first.path)}: '
                'give it once.'))
    return first.value


def _shown(value: values.Number) -> str:
    return (f'the input {wording.shown(value.name)}'
            if isinstance(value, values.Input) else str(value))


def _flavor(vdu: Mapping[str, Any]) -> str | None:
    """Return the flavor that a VDU names, in a legacy way or in Tacker's."""
    for path in (_FLAVOR, _CAPABILITY_NAME):
        name = locations.at(vdu, path)
        if isinstance(name, str) and name:
            return name
        if values.input_of(name):
            return str(name)
    return None


def _together(vdu: Mapping[str, Any], wanted: request.VduRequest,
              found: Mapping[str, list[_Found]]) -> list[problems.Problem]:
    """Return what is wrong with runtime and period together."""
    if not wanted.times:
        return []
    for given, missing in (reservation.HINTS, reservation.HINTS[::-1]):
        if not found[missing] and not wanted.flavor:
            return [problems.Problem(
                found[given][0].path,
                f'{given} is given, but {missing} is not: give both.')]
    if not (isinstance(wanted.runtime_us, int)
            and isinstance(wanted.period_us, int)):
        return []
    try:
        reservation.Reservation(
            wanted.runtime_us, wanted.period_us, _vcpus(vdu, wanted))
    except reservation.InvalidReservationError as error:
        return [problems.Problem(
            found[reservation.RUNTIME][0].path, str(error))]
    return []


def _vcpus(vdu: Mapping[str, Any], wanted: request.VduRequest) -> int:
    """Return the number of vCPUs, 1 if it is not known here."""
    if wanted.size and isinstance(wanted.size.vcpus, int):
        return wanted.size.vcpus
    given = locations.at(vdu, _VCPUS)
    return given if isinstance(given, int) and given > 0 else 1
