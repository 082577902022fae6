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

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares

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
    """

    accepted: float
    imbalance: float


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
              seed: int) -> Outcome:
    """Return the outcome under a placement policy."""
    host = shares.HostShares.empty((CAP,) * pcpus)
    going: list[tuple[float, int, reservation.Reservation, tuple[int, ...]]] = []
    accepted = imbalance = 0
    for number, (now, end, wanted) in enumerate(
            arrivals(mix, pcpus, load, count, seed)):
        while going and going[0][0] <= now:
            _, _, held, chosen = heapq.heappop(going)
            host = host.remove(held, chosen)
        if number >= FIRST:
            imbalance += max(host.used) * pcpus - sum(host.used)
        if fitting.shortfall(host, wanted) is None:
            chosen = fitting.place(host, wanted, policy)
            host = host.add(wanted, chosen)
            heapq.heappush(going, (end, number, wanted, chosen))
            accepted += number >= FIRST
    measured = count - FIRST
    return Outcome(100 * accepted / measured,
                   100 * imbalance / pcpus / bandwidth.BW_UNIT / measured)


def ceiling(mix: Mix, pcpus: int, load: float, count: int,
            seed: int) -> Outcome:
    """Return the outcome if room in the sum sufficed, on pCPUs all the same.

    A placement policy accepts more only where its refusal of a large server
    leaves room for several small ones. The imbalance says nothing.
    """
    going: list[tuple[float, int]] = []
    used = accepted = 0
    for number, (now, end, wanted) in enumerate(
            arrivals(mix, pcpus, load, count, seed)):
        while going and going[0][0] <= now:
            used -= heapq.heappop(going)[1]
        if used + wanted.share <= CAP * pcpus and wanted.vcpus <= pcpus:
            used += wanted.share
            heapq.heappush(going, (end, wanted.share))
            accepted += number >= FIRST
    return Outcome(100 * accepted / (count - FIRST), 0.0)
