# SPDX-License-Identifier: Apache-2.0
"""Fits reservations to hosts: placement policies, and what is missing."""

from collections.abc import Callable
from collections.abc import Sequence

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import reservation
from nova_rt import shares

DEFAULT = 'worst-fit'

# A policy takes the bandwidth left by pCPU and the pCPUs that have enough of
# it, in ascending order, and returns these by preference.
Policy = Callable[[Sequence[int], list[int]], list[int]]


def _worst_fit(left: Sequence[int], fitting: list[int]) -> list[int]:
    return sorted(fitting, key=lambda pcpu: -left[pcpu])


def _best_fit(left: Sequence[int], fitting: list[int]) -> list[int]:
    return sorted(fitting, key=lambda pcpu: left[pcpu])


def _first_fit(left: Sequence[int], fitting: list[int]) -> list[int]:
    return fitting


POLICIES: dict[str, Policy] = {
    'worst-fit': _worst_fit,
    'best-fit': _best_fit,
    'first-fit': _first_fit,
}


class NoRoomError(errors.NovaRTError):
    """A reservation does not fit a host; the message says what is missing where.

    :ivar missing: bandwidth (fixed point) missing on the pCPU that comes
        nearest; the whole bandwidth if the host has too few pCPUs
    :param explain: makes the message, which is rarely read: a scheduler asks
        thousands of hosts
    """

    def __init__(self, missing: int, explain: Callable[[], str]) -> None:
        super().__init__(missing)
        self.missing = missing
        self._explain = explain

    def __str__(self) -> str:
        return self._explain()


def place(host: shares.HostShares, wanted: reservation.Reservation,
          policy: str = DEFAULT) -> tuple[int, ...]:
    """Choose a distinct pCPU for each vCPU of a reservation.

    Worst-fit takes the pCPUs with the most bandwidth left (OpenStack paper,
    section 5.2), best-fit those with the least that suffices, first-fit the
    lowest; the lower index at a tie.

    :returns: the pCPUs in the order in which the policy took them
    :raises NoRoomError: if fewer pCPUs than vCPUs have enough bandwidth left
    :raises KeyError: if there is no such policy
    """
    left = host.left
    fitting = _fitting(left, wanted)
    if len(fitting) < wanted.vcpus:
        raise _no_room(host.capacity, left, wanted, len(fitting))
    preference = [c - p for c, p in
                  zip(host.capacity, host.pinned, strict=True)]
    return tuple(POLICIES[policy](preference, fitting)[:wanted.vcpus])


def shortfall(host: shares.HostShares,
         wanted: reservation.Reservation) -> NoRoomError | None:
    """Return what a host is short of for a reservation, None if it fits.

    It is returned, not raised: a scheduler asks thousands of hosts, and a
    raised exception keeps its frames.
    """
    left = host.left
    fitting = len(_fitting(left, wanted))
    if fitting >= wanted.vcpus:
        return None
    return _no_room(host.capacity, left, wanted, fitting)


def _fitting(left: Sequence[int],
             wanted: reservation.Reservation) -> list[int]:
    """Return the pCPUs with enough bandwidth left for one vCPU, ascending."""
    need = wanted.bandwidth
    return [pcpu for pcpu, free in enumerate(left) if free >= need]


def check_in_place(host: shares.HostShares, held: reservation.Reservation,
                   pcpus: Sequence[int],
                   wanted: reservation.Reservation) -> None:
    """Raise NoRoomError unless a reservation can be changed where it is.

    :param held: the present reservation, included in what the host holds
    :param pcpus: the pCPUs that it is on
    """
    more = wanted.bandwidth - held.bandwidth
    if more <= 0:
        return
    left = host.left
    free, fullest = min((left[pcpu] if pcpu < len(left) else 0, pcpu)
                        for pcpu in pcpus)
    if free < more:
        raise NoRoomError(more - free, lambda: (
            f'{bandwidth.percent(more)} more is needed on pCPU {fullest}, '
            f'which has {bandwidth.percent(free)} left'))


def _no_room(capacity: Sequence[int], left: Sequence[int],
             wanted: reservation.Reservation, fitting: int) -> NoRoomError:
    need = wanted.bandwidth
    usable = len(capacity) - capacity.count(0)
    if wanted.vcpus > usable:
        return NoRoomError(need, lambda: _too_few(wanted.vcpus, usable))
    most = _nearest(capacity, left, need)
    return NoRoomError(need - most, lambda: (
        f'{bandwidth.percent(need)} is needed on each of {wanted.vcpus} '
        f'pCPU(s), but only {fitting} of {usable} have that much left: '
        f'pCPU {_first(capacity, left, most)} has {bandwidth.percent(most)} '
        f'left and lacks {bandwidth.percent(need - most)}'))


def _nearest(capacity: Sequence[int], left: Sequence[int],
             need: int) -> int:
    """Return the most left on a usable pCPU that has too little."""
    if all(capacity):
        most = max(left)
        return most if most < need else max(filter(need.__gt__, left))
    return max([free for free, cap in zip(left, capacity, strict=True)
                if free < need and cap])


def _too_few(vcpus: int, usable: int) -> str:
    if not usable:
        return 'no pCPU of the host may hold reservations'
    return (f'{vcpus} distinct pCPUs are needed, but the host has {usable} '
            'that may hold reservations')


def _first(capacity: Sequence[int], left: Sequence[int], free: int) -> int:
    return next(pcpu for pcpu, most in enumerate(capacity)
                if most and left[pcpu] == free)
