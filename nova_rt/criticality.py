# SPDX-License-Identifier: Apache-2.0
"""Criticality: how bad it is if a server's deadlines are missed.

A, B and C, of which C is the highest (RT-Kube, section IV-A). Flavors and hints ask for it
beside a reservation; without one there is nothing that it could be said of.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import enum

from nova_rt import reservation
from nova_rt import wording

NAME = 'cpu.rt_criticality'
EXTRA_SPEC = reservation.EXTRA_SPEC_PREFIX + NAME

# What a host says of itself in ComputeNode.stats.
STAT = 'rt_criticalities'


class Criticality(enum.IntEnum):
    """The criticalities, ascending; the name is what people write."""

    A = 1
    B = 2
    C = 3


EVERY = frozenset(Criticality)


def parse(name: str, value: object) -> Criticality:
    """Return the criticality that a flavor, a hint or RequestSpec holds.

    :param value: a letter, or a list of one (RequestSpec holds hints as lists of strings)
    :raises nova_rt.reservation.InvalidReservationError: for everything else
    """
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise reservation.InvalidReservationError(
                f'{name} has {len(value)} values: give one.')
        value = value[0]
    if not isinstance(value, str) or value not in Criticality.__members__:
        raise reservation.InvalidReservationError(
            f'{name} is {wording.shown(value)}: give one of '
            f'{", ".join(Criticality.__members__)}.')
    return Criticality[value]


def in_extra_specs(extra_specs: Mapping[str, object]) -> Criticality | None:
    """Return the criticality in a flavor's extra specs, None without one.

    :raises nova_rt.reservation.InvalidReservationError: if it is none of ours
    """
    return parse(EXTRA_SPEC, extra_specs[EXTRA_SPEC]) if EXTRA_SPEC in extra_specs else None


def in_hints(hints: Mapping[str, object]) -> Criticality | None:
    """Return the criticality in scheduler hints, named with or without ``hw:``.

    :raises nova_rt.reservation.InvalidReservationError: if it is none of ours, or the two
        names have different ones
    """
    given = {name: parse(name, hints[name]) for name in (NAME, EXTRA_SPEC) if name in hints}
    if len(set(given.values())) > 1:
        raise reservation.InvalidReservationError(
            f'The hint {NAME} is {given[NAME].name} and {EXTRA_SPEC} is '
            f'{given[EXTRA_SPEC].name}: give it once.')
    return next(iter(given.values()), None)


def requested(extra_specs: Mapping[str, object], hints: Mapping[str, object],
              wanted: reservation.Reservation | None) -> Criticality | None:
    """Return the criticality that a server asks for, None if it says none.

    A hint overrides the flavor's value. Where servers are compared, one that says none
    counts as A (:func:`counted`).

    :param wanted: its reservation
    :raises nova_rt.reservation.InvalidReservationError: if it is none of ours, or there is
        no reservation
    """
    hint = in_hints(hints)
    asked = in_extra_specs(extra_specs) if hint is None else hint
    if asked is not None and wanted is None:
        raise reservation.InvalidReservationError(
            f'{EXTRA_SPEC if hint is None else NAME} is set without a reservation: set '
            f'{reservation.RUNTIME} and {reservation.PERIOD} too, or take a flavor that does.')
    return asked


def counted(asked: Criticality | None) -> Criticality:
    """Return what a server counts as that may say no criticality."""
    return Criticality.A if asked is None else asked


def shown(asked: Criticality | None) -> str:
    """Return what a server counts as, and why, for sentences."""
    return 'A, as it says none' if asked is None else asked.name


def to_stat(taken: Iterable[Criticality]) -> str:
    """Return the criticalities that a host takes, as it reports them."""
    return ','.join(each.name for each in sorted(taken))


def from_stat(stat: str | None) -> frozenset[Criticality]:
    """Return the criticalities that a host reports; all if it reports none.

    :raises KeyError: if it reports anything else
    """
    return frozenset(Criticality[name] for name in stat.split(',')) if stat else EVERY


def refusal(taken: frozenset[Criticality], asked: Criticality | None) -> str | None:
    """Return why a host does not take a server, a clause; None if it does.

    Algorithm 1 of RT-Kube, line 8, where each host takes either C alone or C not at all.
    """
    if counted(asked) in taken:
        return None
    if not taken:
        return 'reports the criticalities that it takes in a form that cannot be read'
    only = ' and '.join(each.name for each in sorted(taken))
    return f'takes servers of criticality {only} only, and this one is {shown(asked)}'
