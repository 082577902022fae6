# SPDX-License-Identifier: Apache-2.0
"""The reservations on a host, by server and pCPU."""

from collections.abc import Iterable
import dataclasses

from nova_rt import reservation
from nova_rt import shares


@dataclasses.dataclass(frozen=True, slots=True)
class Holding:
    """A reservation and the pCPUs it has on a host."""

    reservation: reservation.Reservation
    pcpus: tuple[int, ...]


class Ledger:
    """What is held on a host, derived from its servers and their moves.

    A server may hold twice while it is moved within the host: as it runs now
    and as it will, or was. Each is entered under its own key.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Holding] = {}

    def enter(self, server: str, role: str, holding: Holding | None) -> None:
        """Enter what a server holds in a role; None takes the entry away."""
        if holding is None:
            self._held.pop((server, role), None)
        else:
            self._held[server, role] = holding

    def forget(self, role: str) -> None:
        """Take away all entries of a role, before they are derived anew."""
        for key in [key for key in self._held if key[1] == role]:
            del self._held[key]

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

    :raises ValueError: if it is not one
    """
    bits = int(mask, 16)
    return tuple(i for i in range(bits.bit_length()) if bits >> i & 1)
