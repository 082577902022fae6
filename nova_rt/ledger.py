# SPDX-License-Identifier: Apache-2.0
"""The ledger: the reservations on a host, by server and pCPU."""

from collections.abc import Iterable
import dataclasses
import itertools

from nova_rt import elastic
from nova_rt import reservation
from nova_rt import shares


@dataclasses.dataclass(frozen=True, slots=True)
class Holding:
    """A reservation and the pCPUs it has on a host.

    :ivar terms: what is not held, and makes no two holdings differ
    """

    reservation: reservation.Reservation
    pcpus: tuple[int, ...]
    terms: elastic.Terms = dataclasses.field(default=elastic.Terms(), compare=False)

    def moved(self, source: int, target: int) -> 'Holding':
        """Return the same with one pCPU in place of another, each vCPU in its place."""
        return dataclasses.replace(self, pcpus=tuple(
            target if pcpu == source else pcpu for pcpu in self.pcpus))


class Ledger:
    """The holdings on a host, derived from its servers and their moves.

    While a server moves within the host it may have two: the one that it runs
    with, and the other side of the move. Each has a key of its own.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Holding] = {}

    def enter(self, server: str, role: str, holding: Holding | None) -> None:
        """Set what a server holds in a role; None removes the entry."""
        if holding is None:
            self._held.pop((server, role), None)
        else:
            self._held[server, role] = holding

    def shares(self, empty: shares.HostShares) -> shares.HostShares:
        """Return the host with everything that is held on it.

        :param empty: the host without any reservation
        """
        return empty.add_all((holding.reservation.bandwidth, holding.pcpus)
                             for holding in self._held.values())

    def __len__(self) -> int:
        return len(self._held)

    def __str__(self) -> str:
        return ', '.join(f'{server} as {role}: {holding}' for
                         (server, role), holding in self._held.items())


def to_mask(pcpus: Iterable[int]) -> str:
    """Return pCPUs as a hex mask: Nova's metadata holds 255 characters."""
    return f'{sum(1 << pcpu for pcpu in pcpus):x}'


def from_mask(mask: str) -> tuple[int, ...]:
    """Return the pCPUs in a hex mask, ascending.

    :raises ValueError: if it is not a hex mask
    """
    bits = int(mask, 16)
    return tuple(i for i in range(bits.bit_length()) if bits >> i & 1)


def ranges(pcpus: Iterable[int]) -> str:
    """Return ascending pCPUs as numbers and ranges: ``0-3,6``."""
    runs = []
    for _, run in itertools.groupby(
            enumerate(pcpus), key=lambda pair: pair[1] - pair[0]):
        numbers = [pcpu for _, pcpu in run]
        runs.append(str(numbers[0]) if len(numbers) == 1
                    else f'{numbers[0]}-{numbers[-1]}')
    return ','.join(runs)
