# SPDX-License-Identifier: Apache-2.0
"""Values in a descriptor.

A number, its digits as text (SOL001's maps hold strings only), a criticality, or an input,
whose value is known when the network function is instantiated.
"""

import dataclasses
import re
from typing import Any

from nova_rt import criticality
from nova_rt import reservation
from nova_rt import wording

GET_INPUT = 'get_input'
MEMORY_UNIT = 'MB'
DISK_UNIT = 'GB'

_SIZE = re.compile(r'([0-9]{1,15})(?:\.([0-9]{1,9}))?\s*([A-Za-z]+)')
# As Nova and the Tacker that read these templates have it: 1 MB is 1 MiB.
_BYTES = {'b': 1, 'kb': 2 ** 10, 'kib': 2 ** 10, 'mb': 2 ** 20,
          'mib': 2 ** 20, 'gb': 2 ** 30, 'gib': 2 ** 30, 'tb': 2 ** 40,
          'tib': 2 ** 40}


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """An input of the topology template, whose value is not yet known."""

    name: str


Number = int | Input
# Of a hint: a number, or a criticality.
Value = int | str | Input


def number(name: str, value: Any) -> Number:
    """Return the number that a descriptor gives for a name.

    :raises nova_rt.reservation.InvalidReservationError: for anything but
        digits or ``{get_input: NAME}``
    """
    source = input_of(value)
    if source:
        return source
    if isinstance(value, dict):
        raise reservation.InvalidReservationError(
            f'{name} is {wording.shown(dict(value))}: give a whole '
            f'number, or {{ {GET_INPUT}: NAME }}.')
    if isinstance(value, list):
        raise reservation.InvalidReservationError(
            f'{name} is a list: give one whole number.')
    return reservation.parse_number(name, value)


def hint(name: str, value: Any) -> Value:
    """Return the value that a descriptor gives for a hint.

    :raises nova_rt.reservation.InvalidReservationError: for anything but what
        :func:`known` takes, or ``{get_input: NAME}``
    """
    if name != criticality.NAME:
        return number(name, value)
    if isinstance(value, list):
        raise reservation.InvalidReservationError(
            f'{name} is a list: give one of {", ".join(criticality.Criticality.__members__)}.')
    return input_of(value) or criticality.parse(name, value).name


def known(name: str, value: Any, where: str) -> int | str:
    """Return the value of an input that gives a hint.

    :param name: of the hint
    :param where: the input, for messages
    :raises nova_rt.reservation.InvalidReservationError: if it is not what the hint takes
    """
    if name == criticality.NAME:
        return criticality.parse(where, value).name
    return reservation.parse_number(where, value)


def input_of(value: Any) -> Input | None:
    """Return the input that a value names, None if it is something else."""
    if not isinstance(value, dict) or set(value) != {GET_INPUT}:
        return None
    name = value[GET_INPUT]
    if isinstance(name, list) and len(name) == 1:
        name = name[0]
    return Input(name) if isinstance(name, str) and name else None


def size(name: str, value: Any, unit: str) -> int:
    """Return a size such as ``4096 MB`` in a unit, rounded up.

    :raises nova_rt.reservation.InvalidReservationError: if the value is not such a size
    """
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match or match[3].lower() not in _BYTES:
        raise reservation.InvalidReservationError(
            f'{name} is {wording.shown(value)}: give a size such as '
            f'4096 MB.')
    whole, fraction = int(match[1]), match[2] or ''
    times = _BYTES[match[3].lower()]
    decimal: int = 10 ** len(fraction)
    divisor = _BYTES[unit.lower()] * decimal
    scaled = (whole * decimal + int(fraction or 0)) * times
    return -(-scaled // divisor)
