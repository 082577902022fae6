# SPDX-License-Identifier: Apache-2.0
"""One host of a busy cloud: what its placement policy accepts, and how evenly.

Servers arrive at random (a Poisson process), stay for an exponentially
distributed time, and go. The load is what they would occupy if none was refused,
over what the host admits.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import heapq
import random
import sys

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.defrag import bounds
from nova_rt.defrag import planner

CAP = bandwidth.fraction_to_bandwidth(0.95)
PERIOD_US = 100_000
# Unmeasured, while the host fills.
FIRST = 500


@dataclasses.dataclass(frozen=True)
class Mix:
    """What a cloud's servers ask for; each entry is as likely as the next.

    :ivar sizes: bandwidth in percent, and number of vCPUs
    """

    name: str
    sizes: Sequence[tuple[int, int]]

    @property
    def cpus(self) -> float:
        """The mean share of a server, in CPUs."""
        return (sum(percent * vcpus for percent, vcpus in self.sizes)
                / len(self.sizes) / 100)

    def draw(self, chance: random.Random) -> reservation.Reservation:
        """Return the reservation of one server."""
        percent, vcpus = chance.choice(self.sizes)
        return reservation.Reservation(
            percent * PERIOD_US // 100, PERIOD_US, vcpus)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of the servers, in percent.

    :ivar accepted: of all servers
    :ivar imbalance: bandwidth of the fullest pCPU minus that of a mean one, in
        points, as the arriving servers find it on average
    :ivar moves: of vCPUs that made room, for 100 servers
    """

    accepted: float
    imbalance: float
    moves: float = 0.0


class Host:
    """A host, and the servers on it until they go.

    :ivar shares: what is held on it
    :ivar held: by server
    :ivar moves: how many have been made
    """

    def __init__(self, policy: str, pcpus: int, max_moves: int) -> None:
        self.shares = shares.HostShares.empty((CAP,) * pcpus)
        self.held: dict[str, ledger.Holding] = {}
        self.moves = 0
        self._policy = policy
        self._max_moves = max_moves
        self._going: list[tuple[float, str]] = []

    def wait(self, now: float) -> None:
        """Let those go whose time is over."""
        while self._going and self._going[0][0] <= now:
            gone = self.held.pop(heapq.heappop(self._going)[1])
            self.shares = self.shares.remove(gone.reservation, gone.pcpus)

    def take(self, name: str, end: float, wanted: reservation.Reservation) -> bool:
        """Place a server, after moves if they make room; return whether it fits."""
        if fitting.shortfall(self.shares, wanted) is not None and not self._make_room(wanted):
            return False
        self._hold(name, ledger.Holding(
            wanted, fitting.place(self.shares, wanted, self._policy)))
        heapq.heappush(self._going, (end, name))
        return True

    def _make_room(self, wanted: reservation.Reservation) -> bool:
        plan = (planner.room(self.shares, self.held, wanted, self._max_moves)
                if self._max_moves else None)
        for move in plan.moves if plan else ():
            before = self.held[move.server]
            self.shares = self.shares.remove(before.reservation, before.pcpus)
            self._hold(move.server, move.of(before))
            self.moves += 1
        return plan is not None

    def _hold(self, name: str, holding: ledger.Holding) -> None:
        self.held[name] = holding
        self.shares = self.shares.add(holding.reservation, holding.pcpus)


def arrivals(mix: Mix, pcpus: int, load: float, count: int, seed: int,
             ) -> Iterator[tuple[float, float, reservation.Reservation]]:
    """Yield when a server comes, when it goes, and what it asks for."""
    chance = random.Random(seed)  # noqa: S311
    now = 0.0
    for _ in range(count):
        now += chance.expovariate(
            load * pcpus * CAP / bandwidth.BW_UNIT / mix.cpus)
        yield now, now + chance.expovariate(1), mix.draw(chance)


def placed_by(policy: str, mix: Mix, pcpus: int, load: float, count: int,
              seed: int, max_moves: int = 0) -> Outcome:
    """Return the outcome under a placement policy.

    :param max_moves: how many moves may make room for one server
    """
    host = Host(policy, pcpus, max_moves)
    accepted = imbalance = moves = 0
    for number, (now, end, wanted) in enumerate(
            arrivals(mix, pcpus, load, count, seed)):
        host.wait(now)
        if number == FIRST:
            accepted, moves = 0, host.moves
        if number >= FIRST:
            imbalance += max(host.shares.used) * pcpus - sum(host.shares.used)
        accepted += host.take(str(number), end, wanted)
    measured = count - FIRST
    return Outcome(100 * accepted / measured,
                   100 * imbalance / pcpus / bandwidth.BW_UNIT / measured,
                   100 * (host.moves - moves) / measured)


def fragmented(policy: str, mix: Mix, pcpus: int, load: float, seed: int,
               ) -> tuple[Host, reservation.Reservation]:
    """Return a busy host, and what it refuses although there is room in the sum."""
    host = Host(policy, pcpus, 0)
    for number, (now, end, wanted) in enumerate(
            arrivals(mix, pcpus, load, sys.maxsize, seed)):
        host.wait(now)
        if (not host.take(str(number), end, wanted) and number >= FIRST
                and wanted.vcpus <= pcpus and wanted.share <= sum(host.shares.left)):
            return host, wanted
    raise RuntimeError('Nobody waits that long.')


def ceiling(mix: Mix, pcpus: int, load: float, count: int,
            seed: int, packed: bool = False) -> Outcome:
    """Return the outcome if room in the sum sufficed, on pCPUs all the same.

    A placement policy accepts more only where its refusal of a large server
    leaves room for several small ones. The imbalance says nothing.

    :param packed: refuse, too, what :func:`nova_rt.defrag.bounds.bins` says is on no
        layout of so many pCPUs: no number of moves lets it in
    """
    going: list[tuple[float, int]] = []
    held: dict[int, reservation.Reservation] = {}
    accepted = 0
    for number, (now, end, wanted) in enumerate(
            arrivals(mix, pcpus, load, count, seed)):
        while going and going[0][0] <= now:
            del held[heapq.heappop(going)[1]]
        together = [*held.values(), wanted]
        if (wanted.vcpus <= pcpus and sum(each.share for each in together) <= CAP * pcpus
                and not (packed and _bins(together) > pcpus)):
            held[number] = wanted
            heapq.heappush(going, (end, number))
            accepted += number >= FIRST
    return Outcome(100 * accepted / (count - FIRST), 0.0)


def _bins(servers: Sequence[reservation.Reservation]) -> int:
    return bounds.bins([server.bandwidth for server in servers
                        for _ in range(server.vcpus)], CAP)
