# SPDX-License-Identifier: Apache-2.0
"""Which elastic servers of a host are shrunk so that another fits, and by how much."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools

from nova_rt import criticality
from nova_rt import fitting
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares

# So many servers are chosen from all sets of that size, if there are not too many; else, and
# for more, by leaving out whoever is not needed, which may keep more than the fewest.
_EXACT = 2
_MANY = 40


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """A host that a server is to fit.

    :ivar filled: its bandwidth, with what all servers hold
    :ivar share_left: what Placement may still allocate of it
    :ivar elastic: what those hold that may be shrunk, by server
    """

    filled: shares.HostShares
    share_left: int
    elastic: Mapping[str, ledger.Holding]

    def after(self, runtimes: Mapping[str, int]) -> shares.HostShares:
        """Return its bandwidth once servers have these runtimes, in microseconds."""
        return self.filled.add_all(itertools.chain.from_iterable(
            ((-held.reservation.bandwidth, held.pcpus), (less.bandwidth, held.pcpus))
            for held, less in self._changes(runtimes)))

    def freed(self, runtimes: Mapping[str, int]) -> int:
        """Return the share that is free then, in addition."""
        return sum(held.reservation.share - less.share for held, less in self._changes(runtimes))

    def fits(self, wanted: reservation.Reservation, runtimes: Mapping[str, int]) -> bool:
        """Return whether a reservation fits then."""
        return (self.share_left + self.freed(runtimes) >= wanted.share
                and fitting.shortfall(self.after(runtimes), wanted) is None)

    def _changes(self, runtimes: Mapping[str, int],
                 ) -> list[tuple[ledger.Holding, reservation.Reservation]]:
        return [(self.elastic[server], dataclasses.replace(
            self.elastic[server].reservation, runtime_us=runtime_us))
            for server, runtime_us in runtimes.items()]


def choose(room: Room, wanted: reservation.Reservation) -> dict[str, int] | None:
    """Return the runtimes that servers are to have, in microseconds, so that another fits.

    None has less than its least, and none less than is needed: with one microsecond more for
    any of them, it would not fit.

    :returns: None if it fits in no way
    """
    chosen = next((found for some in _by_level(room)
                   if (found := _fewest(some, wanted)) is not None), None)
    if chosen is None:
        return None
    for server in sorted(chosen, key=lambda each: (_gives(room, each), each)):
        chosen[server] = _longest(room, wanted, chosen, server)
    return {server: runtime_us for server, runtime_us in chosen.items()
            if runtime_us < room.elastic[server].reservation.runtime_us}


def _by_level(room: Room) -> Iterator[Room]:
    """Yield the host with nobody who gives, then with the least critical, then with more."""
    yield dataclasses.replace(room, elastic={})
    levels = {server: criticality.counted(each.terms.criticality)
              for server, each in room.elastic.items()}
    for highest in sorted(set(levels.values())):
        yield dataclasses.replace(room, elastic={
            server: each for server, each in room.elastic.items() if levels[server] <= highest})


def _fewest(room: Room, wanted: reservation.Reservation) -> dict[str, int] | None:
    """Return few servers that suffice, each with its least runtime; None if none do."""
    everyone = sorted(room.elastic, key=lambda each: (_gives(room, each), each))
    if not room.fits(wanted, _least(room, everyone)):
        return None
    sizes = range(min(_EXACT, len(everyone)) + 1) if len(everyone) <= _MANY else ()
    for size in sizes:
        for some in itertools.combinations(everyone, size):
            if room.fits(wanted, _least(room, some)):
                return _least(room, some)
    needed = list(everyone)
    for server in everyone:
        others = [each for each in needed if each != server]
        if room.fits(wanted, _least(room, others)):
            needed = others
    return _least(room, needed)


def _least(room: Room, servers: Iterable[str]) -> dict[str, int]:
    return {server: room.elastic[server].terms.min_runtime_us
            or room.elastic[server].reservation.runtime_us for server in servers}


def _gives(room: Room, server: str) -> int:
    """Return the share that a server can give up."""
    return room.freed(_least(room, [server]))


def _longest(room: Room, wanted: reservation.Reservation, chosen: Mapping[str, int],
             server: str) -> int:
    """Return the longest runtime that one of those may keep."""
    least, most = chosen[server], room.elastic[server].reservation.runtime_us
    while least < most:
        middle = (least + most + 1) // 2
        if room.fits(wanted, {**chosen, server: middle}):
            least = middle
        else:
            most = middle - 1
    return least


def cheapest(choices: Mapping[str, tuple[Room, dict[str, int]]]) -> str | None:
    """Return the host where the least critical, then the fewest, give up the least.

    :returns: None without a choice
    """
    return min(choices, key=lambda name: _price(name, *choices[name]), default=None)


def _price(name: str, room: Room, runtimes: Mapping[str, int]) -> tuple[int, int, int, str]:
    highest = max((criticality.counted(room.elastic[server].terms.criticality)
                   for server in runtimes), default=0)
    return int(highest), len(runtimes), room.freed(runtimes), name
