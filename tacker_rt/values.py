# SPDX-License-Identifier: Apache-2.0
"""What stands in a descriptor where a number is wanted.

A number, its digits (SOL001's maps hold strings only), or an input that has
its value when the network function is instantiated.
"""

import dataclasses
import re
from typing import Any

from nova_rt import reservation
from nova_rt import wording

GET_INPUT = 'get_input'
MEMORY_UNIT = 'MB'
DISK_UNIT = 'GB'

_SIZE = re.compile(r'([0-9]{1,15})(?:\.([0-9]{1,9}))?\s*([A-Za-z]+)')
# As Nova and the Tacker of these templates read them: its MB is a MiB.
_BYTES = {'b': 1, 'kb': 2 ** 10, 'kib': 2 ** 10, 'mb': 2 ** 20,
          'mib': 2 ** 20, 'gb': 2 ** 30, 'gib': 2 ** 30, 'tb': 2 ** 40,
          'tib': 2 ** 40}


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """The value of a topology template's input, not yet known."""

    name: str


Number = int | Input


def number(name: str, value: Any) -> Number:
    """Return the number that a descriptor gives for a name.

    :raises nova_rt.reservation.InvalidReservationError: for anything else than
        digits or ``{get_input: NAME}``
    """
    given = input_of(value)
    if given:
        return given
    if isinstance(value, dict):
        raise reservation.InvalidReservationError(
            f'{name} is {wording.shown(dict(value))}: give a whole '
            f'number, or {{ {GET_INPUT}: NAME }}.')
    if isinstance(value, list):
        raise reservation.InvalidReservationError(
            f'{name} is a list: give one whole number.')
    return reservation.parse_number(name, value)


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

    :raises nova_rt.reservation.InvalidReservationError: if it is no such size
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
