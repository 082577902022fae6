# SPDX-License-Identifier: Apache-2.0
"""Elastic reservations: the least runtime that a server can live with for a while.

A flavor or a hint gives it beside a reservation. What more critical servers need may then be
taken from the rest of the runtime, in the kernel alone and for a while: whatever is decided
about room counts the whole reservation.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import reservation

NAME = 'cpu.rt_min_runtime_us'
EXTRA_SPEC = reservation.EXTRA_SPEC_PREFIX + NAME


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """What a server says beside its reservation that matters where it runs.

    :ivar criticality: None if it says none
    :ivar min_runtime_us: the least runtime that it can live with, None if it is not elastic
    :ivar known: False of a server that was started before anybody wrote this down
    """

    criticality: criticality.Criticality | None = None
    min_runtime_us: int | None = None
    known: bool = True


def parse(name: str, value: object) -> int:
    """Return the least runtime that a flavor, a hint or RequestSpec holds.

    :raises nova_rt.reservation.InvalidReservationError: if it is not a runtime
    """
    least_us = reservation.parse_number(name, value)
    reservation.check_runtime(name, least_us)
    return least_us


def in_extra_specs(extra_specs: Mapping[str, object]) -> int | None:
    """Return the least runtime in a flavor's extra specs, None without one.

    :raises nova_rt.reservation.InvalidReservationError: if it is not a runtime
    """
    return parse(EXTRA_SPEC, extra_specs[EXTRA_SPEC]) if EXTRA_SPEC in extra_specs else None


def in_hints(hints: Mapping[str, object]) -> int | None:
    """Return the least runtime in scheduler hints, named with or without ``hw:``.

    :raises nova_rt.reservation.InvalidReservationError: if it is not a runtime, or the two
        names have different ones
    """
    given = {name: parse(name, hints[name]) for name in (NAME, EXTRA_SPEC) if name in hints}
    if len(set(given.values())) > 1:
        raise reservation.InvalidReservationError(
            f'The hint {NAME} is {given[NAME]} and {EXTRA_SPEC} is {given[EXTRA_SPEC]}: '
            'give it once.')
    return next(iter(given.values()), None)


def requested(extra_specs: Mapping[str, object], hints: Mapping[str, object],
              wanted: reservation.Reservation | None) -> int | None:
    """Return the least runtime that a server asks for, None if it is not elastic.

    A hint overrides the flavor's value.

    :param wanted: its reservation
    :raises nova_rt.reservation.InvalidReservationError: if it is not a runtime that fits the
        reservation, or there is no reservation
    """
    hint = in_hints(hints)
    least_us = in_extra_specs(extra_specs) if hint is None else hint
    if least_us is not None:
        check(EXTRA_SPEC if hint is None else NAME, least_us, wanted)
    return least_us


def check(name: str, least_us: int, wanted: reservation.Reservation | None) -> None:
    """Refuse a least runtime that does not fit a reservation.

    :raises nova_rt.reservation.InvalidReservationError: then
    """
    if wanted is None:
        raise reservation.InvalidReservationError(
            f'{name} is set without a reservation: set {reservation.RUNTIME} and '
            f'{reservation.PERIOD} too.')
    if least_us > wanted.runtime_us:
        raise reservation.InvalidReservationError(
            f'{name} is {least_us} µs, but the runtime is {wanted.runtime_us} µs: lower '
            f'{name}, or raise {reservation.RUNTIME}.')
    if bandwidth.to_bandwidth(least_us, wanted.period_us) < 1:
        raise reservation.InvalidReservationError(
            f'{name} is {least_us} µs every {wanted.period_us} µs, which is less than the '
            f'kernel can account: raise {name}.')


def terms(extra_specs: Mapping[str, object],
          wanted: reservation.Reservation) -> Terms:
    """Return the terms of a server by its own flavor, where hints are merged in.

    What is invalid counts as not said: nothing is taken from such a server.
    """
    said = None
    with contextlib.suppress(reservation.InvalidReservationError):
        said = criticality.in_extra_specs(extra_specs)
        return Terms(said, requested(extra_specs, {}, wanted))
    return Terms(said)
