# SPDX-License-Identifier: Apache-2.0
"""Fits reservations to hosts: placement policies, and what is missing."""

import bisect
from collections.abc import Callable
from collections.abc import Sequence
import itertools
import operator

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import reservation
from nova_rt import shares

DEFAULT = 'worst-fit'

# The price of the only room for a size that one vCPU holds: an integer, so that
# prices are exact, and the same everywhere.
_PRICE = 1 << 20
_TIE_SHIFT = bandwidth.BW_SHIFT + 1

# A policy takes the bandwidth left by pCPU, the bandwidth of a vCPU, their
# number, and how many vCPUs of each size the host holds. So many pCPUs have
# enough left; it returns the ones that it prefers.
Policy = Callable[[Sequence[int], int, int, Sequence[int]], Sequence[int]]


def _worst_fit(left: Sequence[int], need: int, vcpus: int,
               sizes: Sequence[int]) -> Sequence[int]:
    least = sorted(left)[-vcpus]
    chosen = [pcpu for pcpu, free in enumerate(left) if free >= least]
    return sorted(chosen, key=left.__getitem__, reverse=True)[:vcpus]


def _best_fit(left: Sequence[int], need: int, vcpus: int,
              sizes: Sequence[int]) -> Sequence[int]:
    ranked = sorted(left)
    most = ranked[bisect.bisect_left(ranked, need) + vcpus - 1]
    chosen = [pcpu for pcpu, free in enumerate(left) if need <= free <= most]
    return sorted(chosen, key=left.__getitem__)[:vcpus]


def _first_fit(left: Sequence[int], need: int, vcpus: int,
               sizes: Sequence[int]) -> Sequence[int]:
    return [pcpu for pcpu, free in enumerate(left) if free >= need][:vcpus]


def _least_fragmentation(left: Sequence[int], need: int, vcpus: int,
                         sizes: Sequence[int]) -> Sequence[int]:
    """Choose the pCPUs whose use takes the least room from the usual sizes.

    A pCPU costs the price of each size that it fits now and would no longer fit.
    The price is the number of vCPUs of that size on the host over the number of
    pCPUs that fit it (and one more): what is usual and scarce is dear. Worst-fit
    decides at a tie, so a host without reservations is filled as by worst-fit.

    Usual is what the host holds: derived from its ledger, it survives a
    restart, depends on no order of events, and reaches the scheduler with the
    host's bandwidth. Flavors would not do, as hints override them. Weighing
    placements by the typical workload is from Weng et al., "Beware of
    Fragmentation" (USENIX ATC 2023), which has no prices.
    """
    prices = _prices(left, sizes)
    costs = [((prices[free >> shares.SIZE_SHIFT]
               - prices[free - need >> shares.SIZE_SHIFT]) << _TIE_SHIFT) - free
             if free >= need else 0 for free in left]
    fitting = [pcpu for pcpu, free in enumerate(left) if free >= need]
    return sorted(fitting, key=costs.__getitem__)[:vcpus]


def _prices(left: Sequence[int], sizes: Sequence[int]) -> Sequence[int]:
    """Return by size the price of room for all sizes up to it, summed."""
    largest = [0] * len(sizes)
    for free in left:
        if free >= 0:
            largest[free >> shares.SIZE_SHIFT] += 1
    # By size from the largest down: how many pCPUs fit it, and one more.
    fitting = list(itertools.accumulate(reversed(largest), initial=1))
    fitting.reverse()
    return list(itertools.accumulate(map(
        operator.floordiv, map(_PRICE.__mul__, sizes), fitting)))


POLICIES: dict[str, Policy] = {
    'worst-fit': _worst_fit,
    'best-fit': _best_fit,
    'first-fit': _first_fit,
    'least-fragmentation': _least_fragmentation,
}


# Those that weigh the sizes that a host holds, which it then reports.
WEIGHING_SIZES = frozenset({'least-fragmentation'})


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
    lowest, least-fragmentation those whose use costs the sizes held by the host
    the least room, then those with the most left; the lower index at a tie.

    :returns: the pCPUs in the order in which the policy took them
    :raises NoRoomError: if fewer pCPUs than vCPUs have enough bandwidth left
    :raises KeyError: if there is no such policy
    """
    missing = shortfall(host, wanted)
    if missing:
        raise missing
    left, sizes = host.left, host.sizes
    if host.occupancy is shares.Occupancy.EVERY:
        # Whichever are chosen, every pCPU keeps as much: only balance counts.
        left = tuple(map(operator.sub, host.capacity, host.pinned))
        sizes = (0,) * len(sizes)
    return tuple(POLICIES[policy](
        left, wanted.bandwidth, wanted.vcpus, sizes))


def shortfall(host: shares.HostShares,
              wanted: reservation.Reservation) -> NoRoomError | None:
    """Return what a host is short of for a reservation, None if it fits.

    It is returned, not raised: a scheduler asks thousands of hosts, and a
    raised exception keeps its frames.
    """
    fitting = sum(map(wanted.bandwidth.__le__, host.left))
    if fitting >= wanted.vcpus:
        return None
    return _no_room(host.capacity, host.left, wanted, fitting)


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
