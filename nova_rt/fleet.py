# SPDX-License-Identifier: Apache-2.0
"""Hosts and the reservations on them: what a whole cloud would do, at a desk.

Decides as RTShareFilter, RTShareWeigher and the claim do together, with the
same functions, and without Nova.
"""

from collections.abc import Mapping
import dataclasses

from nova_rt import errors
from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares


class UnknownReservationError(errors.NovaRTError, LookupError):
    """No reservation of that name is held."""


class DuplicateReservationError(errors.NovaRTError, ValueError):
    """A reservation of that name is held already."""


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """Where a reservation is: host, and pCPUs in the order chosen."""

    wanted: reservation.Reservation
    host: str
    pcpus: tuple[int, ...]


def headroom(host: shares.HostShares, wanted: reservation.Reservation) -> int:
    """Return what the fullest pCPU that a reservation needs would keep.

    The pCPUs are those that worst-fit would take. This is what the weigher
    compares hosts by; bandwidth in fixed point, negative if it does not fit.
    """
    left = sorted(host.left, reverse=True)
    if wanted.vcpus > len(left):
        return -wanted.bandwidth
    return left[wanted.vcpus - 1] - wanted.bandwidth


class Fleet:
    """Hosts by name with the reservations placed on them so far.

    :param hosts: the hosts as they are at the start
    :param policy: the placement policy of every host
    :param spread: prefer the host that keeps the most bandwidth on the
        fullest pCPU needed; otherwise (pack) the one that keeps the least
    """

    def __init__(self, hosts: Mapping[str, shares.HostShares],
                 policy: str = fitting.DEFAULT, spread: bool = True) -> None:
        self.hosts = dict(hosts)
        self.placements: dict[str, Placement] = {}
        self._policy = policy
        self._sign = -1 if spread else 1

    def add(self, name: str, wanted: reservation.Reservation) -> Placement:
        """Place a reservation on the preferred host on which it fits.

        :raises DuplicateReservationError: if the name is taken
        :raises fitting.NoRoomError: if it fits nowhere; the sentence is that of
            the host that comes nearest
        """
        if name in self.placements:
            raise DuplicateReservationError(
                f'{name} is placed already: remove it first')
        shortfalls = [] if self.hosts else [
            (wanted.bandwidth, 'there is no host')]
        for host in sorted(self.hosts, key=lambda name: self._sign
                           * headroom(self.hosts[name], wanted)):
            try:
                pcpus = fitting.place(
                    self.hosts[host], wanted, self._policy)
            except fitting.NoRoomError as exc:
                shortfalls.append((exc.missing, f'{host}: {exc}'))
                continue
            placed = Placement(wanted, host, pcpus)
            self.placements[name] = placed
            self.hosts[host] = self.hosts[host].add(wanted, pcpus)
            return placed
        missing, sentence = min(shortfalls)
        raise fitting.NoRoomError(missing, lambda: sentence)

    def remove(self, name: str) -> Placement:
        """Take a reservation away and return where it was.

        :raises UnknownReservationError: if there is none of that name
        """
        if name not in self.placements:
            raise UnknownReservationError(
                f'no reservation {name} is placed: add it first')
        placed = self.placements.pop(name)
        self.hosts[placed.host] = self.hosts[placed.host].remove(
            placed.wanted, placed.pcpus)
        return placed
