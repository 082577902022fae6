# SPDX-License-Identifier: Apache-2.0
"""Fits reservations to hosts: placement policies, and what is missing."""

import bisect
from collections.abc import Callable
from collections.abc import Iterable
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

# A policy takes the bandwidth left by pCPU, the reservation, and the host. The
# reservation fits; it returns the pCPUs that it prefers, one for each vCPU.
Policy = Callable[[Sequence[int], reservation.Reservation, shares.HostShares],
                  Sequence[int]]


def _worst_fit(left: Sequence[int], wanted: reservation.Reservation,
               host: shares.HostShares) -> Sequence[int]:
    return _pcpus_with(left, sorted(left, reverse=True)[:wanted.vcpus])


def _best_fit(left: Sequence[int], wanted: reservation.Reservation,
              host: shares.HostShares) -> Sequence[int]:
    ranked = sorted(left)
    first = bisect.bisect_left(ranked, wanted.bandwidth)
    return _pcpus_with(left, ranked[first:first + wanted.vcpus])


def _first_fit(left: Sequence[int], wanted: reservation.Reservation,
               host: shares.HostShares) -> Sequence[int]:
    return _at_least(left, wanted.bandwidth)[:wanted.vcpus]


def _least_fragmentation(left: Sequence[int], wanted: reservation.Reservation,
                         host: shares.HostShares) -> Sequence[int]:
    """Choose the pCPUs whose use takes the least room from the usual sizes.

    A pCPU costs the price of each size that it fits now and would no longer fit.
    The price is the number of vCPUs of that size on the host over the number of
    pCPUs that fit it (and one more): what is usual and scarce is dear. A size
    that over a quarter of the pCPUs fit is free. Worst-fit decides at a tie, so
    a host with few reservations is filled as by worst-fit.

    Usual is what the host holds: derived from its ledger, it survives a
    restart, depends on no order of events, and reaches the scheduler with the
    host's bandwidth. Flavors would not do, as hints override them. Weighing
    placements by the typical workload is from Weng et al., "Beware of
    Fragmentation" (USENIX ATC 2023), which has no prices.
    """
    if host.occupancy is shares.Occupancy.EVERY:
        # Every pCPU keeps as much, whichever are chosen: only balance counts.
        return _worst_fit(left, wanted, host)
    need = wanted.bandwidth
    prices = _prices(host)
    costs = [((prices[free >> shares.SIZE_SHIFT]
               - prices[free - need >> shares.SIZE_SHIFT]) << _TIE_SHIFT) - free
             if free >= need else 0 for free in left]
    return sorted(_at_least(left, need), key=costs.__getitem__)[:wanted.vcpus]


def _at_least(left: Sequence[int], least: int) -> list[int]:
    """Return the pCPUs with at least so much left, ascending."""
    return list(itertools.compress(itertools.count(), map(least.__le__, left)))


def _pcpus_with(left: Sequence[int], values: Iterable[int]) -> list[int]:
    """Return the pCPUs that have these values left, the lower index first at a tie.

    Faster than to sort pCPUs, of which most are not chosen.

    :param values: equal ones side by side
    """
    chosen: list[int] = []
    last, pcpu = None, -1
    for value in values:
        pcpu = left.index(value, pcpu + 1 if value == last else 0)
        chosen.append(pcpu)
        last = value
    return chosen


def _prices(host: shares.HostShares) -> Sequence[int]:
    """Return by size the price of room for all sizes up to it, summed."""
    largest = [0] * len(host.sizes)
    for free in host.left:
        if free >= 0:
            largest[free >> shares.SIZE_SHIFT] += 1
    # By size: how many pCPUs fit it.
    fitting = list(itertools.accumulate(reversed(largest)))
    fitting.reverse()
    plenty = (len(host.capacity) - host.capacity.count(0)) // 4
    return list(itertools.accumulate(
        _PRICE * count // (pcpus + 1) if count and pcpus <= plenty else 0
        for count, pcpus in zip(host.sizes, fitting, strict=True)))


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
    left = host.left
    if host.occupancy is shares.Occupancy.EVERY:
        left = tuple(map(operator.sub, host.capacity, host.pinned))
    return tuple(POLICIES[policy](left, wanted, host))


def fill(host: shares.HostShares, wanted: reservation.Reservation,
         policy: str, most: int) -> tuple[shares.HostShares, int]:
    """Place a reservation again and again, as long as it fits or up to a number.

    :returns: the host then, and how many there are
    """
    for count in range(most):
        try:
            host = host.add(wanted, place(host, wanted, policy))
        except NoRoomError:
            return host, count
    return host, most


def count(host: shares.HostShares, wanted: reservation.Reservation,
          policy: str, most: int) -> int:
    """Return how many more such reservations a host takes, up to a number.

    Those that :func:`fill` would place, without placing them where it is certain
    how that ends: worst-fit lets in as many as can be, and so do all policies if
    there is nothing to choose.
    """
    times = [max(0, free) // wanted.bandwidth for free, capacity
             in zip(host.left, host.capacity, strict=True) if capacity]
    if host.occupancy is shares.Occupancy.EVERY:
        return min(most, *times) if len(times) >= wanted.vcpus else 0
    if POLICIES[policy] is not _worst_fit and wanted.vcpus > 1:
        return fill(host, wanted, policy, most)[1]
    # Each takes a pCPU at most once, so a pCPU serves no more than there are.
    while (served := sum(min(most, each) for each in times)) < most * wanted.vcpus:
        most = served // wanted.vcpus
    return most


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


def fits_in_sum(host: shares.HostShares, wanted: reservation.Reservation) -> bool:
    """Return whether a reservation might fit a host if others were on other pCPUs."""
    fitting = sum(map(wanted.bandwidth.__le__, host.capacity))
    left = sum(free for free, most in zip(host.left, host.capacity, strict=True) if most)
    return fitting >= wanted.vcpus and wanted.share <= left


def longest_runtime(host: shares.HostShares, wanted: reservation.Reservation,
                    share: int) -> int:
    """Return the runtime with which a reservation would just fit a host.

    Its period and its vCPUs stay the same.

    :param share: the bandwidth (fixed point) that all of its vCPUs may have together
    :returns: in µs; 0 if there is none that the kernel accounts for
    """
    if wanted.vcpus > len(host.left):
        return 0
    most = min(sorted(host.left)[-wanted.vcpus], share // wanted.vcpus)
    if most < 1:
        return 0
    runtime_us = bandwidth.longest_runtime(most, wanted.period_us)
    return runtime_us if runtime_us >= bandwidth.MIN_RUNTIME_US else 0


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
    most = _nearest(capacity, left, need, usable)
    return NoRoomError(need - most, lambda: (
        f'{bandwidth.percent(need)} is needed on each of {wanted.vcpus} '
        f'pCPU(s), but only {fitting} of {usable} have that much left: '
        f'pCPU {_first(capacity, left, most)} has {bandwidth.percent(most)} '
        f'left and lacks {bandwidth.percent(need - most)}'))


def _nearest(capacity: Sequence[int], left: Sequence[int],
             need: int, usable: int) -> int:
    """Return the most left on a usable pCPU that has too little."""
    if usable == len(capacity):
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
