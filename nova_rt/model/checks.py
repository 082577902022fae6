# SPDX-License-Identifier: Apache-2.0
"""Checks of the model's input."""

import decimal
import math
import numbers
from typing import cast

from nova_rt import errors
from nova_rt import wording

# 2^40 µs are twelve days: no deadline that matters to a scheduler is longer,
# and sums of thousands of such times still fit 64 bits.
MAX_TIME_US = 1 << 40
# Beyond these, sums and quotients of rates lose their digits.
LARGEST = 1e15
SMALLEST = 1e-15

_UNITS = {'us': 1, 'ms': 1000, 's': 1_000_000}


class ModelError(errors.NovaRTError, ValueError):
    """The model cannot answer; the message is one sentence: why."""


def time_us(name: str, value: object, least: int = 1) -> int:
    """Return a time as whole µs.

    :param value: an integer, or an integral float or Fraction, in µs
    :raises ModelError: if it is not, or outside ``least`` to 2^40 µs
    """
    number = _integer(value)
    if number is None:
        raise ModelError(f'{name} is {wording.shown(value)}: give whole µs.')
    if not least <= number <= MAX_TIME_US:
        raise ModelError(
            f'{name} is {_short(number)} µs: give {least} to '
            f'{MAX_TIME_US} µs.')
    return number


def parse_time_us(name: str, text: object, unit: str = 'us') -> int:
    """Return the whole µs that a text such as ``2.88`` in ms stands for.

    Read as a decimal, so nothing is lost on the way.

    :param unit: one of us, ms, s
    :raises ModelError: if it is not a number, or finer than a µs
    """
    try:
        number = decimal.Decimal(str(text).strip())
    except decimal.InvalidOperation:
        raise ModelError(
            f'{name} is {wording.shown(text)}: give a number.') from None
    if not number.is_finite() or abs(number) > MAX_TIME_US:
        raise ModelError(f'{name} is {wording.shown(text)}: give a time in {unit} '
                         f'of at most {MAX_TIME_US} µs.')
    scaled = number * _UNITS[unit]
    if scaled != scaled.to_integral_value():
        raise ModelError(f'{name} is {wording.shown(text)} {unit}: times finer '
                         'than 1 µs cannot be scheduled.')
    return time_us(name, int(scaled))


def positive(name: str, value: object) -> float:
    """Return a positive number that is safe to calculate with.

    :raises ModelError: if it is not a number, not finite, or not from
        10^-15 to 10^15
    """
    number = _real(name, value)
    if not SMALLEST <= number <= LARGEST:
        raise ModelError(f'{name} is {number:g}: give a number above 0, '
                         f'from {SMALLEST:g} to {LARGEST:g}.')
    return number


def not_negative(name: str, value: object) -> float:
    """Return a number from 0 to 10^15.

    :raises ModelError: if it is anything else
    """
    number = _real(name, value)
    if not 0 <= number <= LARGEST:
        raise ModelError(
            f'{name} is {number:g}: give a number from 0 to {LARGEST:g}.')
    return number


def probability(name: str, value: object) -> float:
    """Return a probability strictly between 0 and 1.

    :raises ModelError: if it is anything else
    """
    number = _real(name, value)
    if not 0 < number < 1:
        raise ModelError(f'{name} is {number:g}: give a probability between '
                         '0 and 1, such as 0.99.')
    return number


def count(name: str, value: object, most: int) -> int:
    """Return a whole number from 1 to ``most``.

    :raises ModelError: if it is anything else
    """
    number = _integer(value)
    if number is None or not 1 <= number <= most:
        raise ModelError(f'{name} is {wording.shown(value)}: give a whole number '
                         f'from 1 to {most}.')
    return number


def _integer(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    number = cast(int, math.floor(value))
    return number if number == value else None


def _real(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ModelError(f'{name} is {wording.shown(value)}: give a number.')
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise ModelError(f'{name} is not a number: give a number.')
    return number


def _short(number: int) -> str:
    return str(number) if abs(number) < 10 ** 20 else f'about {_power(number)}'


def _power(number: int) -> str:
    sign = '-' if number < 0 else ''
    return f'{sign}2^{abs(number).bit_length() - 1}'
