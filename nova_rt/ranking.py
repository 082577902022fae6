# SPDX-License-Identifier: Apache-2.0
"""Which host a server of some criticality prefers (RT-Kube, section IV-B2).

A packs, C spreads, and B seeks hosts of middling load: its worst case has room to grow,
and C finds the emptiest hosts empty.
"""

from collections.abc import Sequence
import dataclasses

from nova_rt import reservation
from nova_rt import shares
from nova_rt.criticality import Criticality

# The share left, as a fraction, at which B likes a host best: 1 / K.
TURN = 0.5
# h, for less than that: a x + b; and g, for more: a' x² + b' x + c' (Figure 5).
RISE = (1 / 5, 9 / 10)
FALL = (5 / 3, -9 / 2, 17 / 6)


@dataclasses.dataclass(frozen=True, slots=True)
class Curve:
    """How B likes hosts, by the fraction of their share that it would leave (equation 5).

    :ivar turn: where the second function takes over from the first, from 0 to 1
    :ivar rise: a and b
    :ivar fall: a', b' and c'
    """

    turn: float = TURN
    rise: Sequence[float] = RISE
    fall: Sequence[float] = FALL

    def at(self, left: float) -> float:
        """Return the rank of a host with this fraction left."""
        if left <= self.turn:
            a, b = self.rise
            return a * left + b
        a, b, c = self.fall
        return (a * left + b) * left + c


def fraction_left(host: shares.HostShares, wanted: reservation.Reservation) -> float:
    """Return the fraction of a host's share that a reservation would leave.

    RT-Kube's (thresholdUT - newUT) / thresholdUT; negative if it does not fit.
    """
    taken = wanted.share
    if host.occupancy is shares.Occupancy.EVERY:
        taken = wanted.bandwidth * sum(map(bool, host.capacity))
    return (host.rt_share - host.rt_share_used - taken) / host.rt_share


def rank(asked: Criticality, left: float, curve: Curve) -> float:
    """Return the rank of a host, the best the highest (Algorithm 2).

    :param left: the fraction of its share that the server would leave
    """
    if asked is Criticality.A:
        return 1 - left
    return left if asked is Criticality.C else curve.at(left)
