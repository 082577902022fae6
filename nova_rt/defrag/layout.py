# SPDX-License-Identifier: Apache-2.0
"""Which server runs on which pCPUs of a host, and moves between these.

A move takes one vCPU of one server to another pCPU. The server's bandwidth is
claimed there while it still has that of the old pCPU, which is released afterwards:
it never has less than its bandwidth. So two vCPUs cannot simply swap their pCPUs,
and the order of moves matters.
"""

from collections.abc import Mapping
import dataclasses

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import ledger
from nova_rt import shares


class MoveError(errors.NovaRTError):
    """A move cannot be made from where the servers are; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """One vCPU of a server goes to another pCPU.

    :ivar server: its name, as in the layout
    :ivar source: the pCPU that it leaves
    :ivar target: the pCPU that it then runs on
    :ivar bandwidth: what it has there, in fixed point
    """

    server: str
    source: int
    target: int
    bandwidth: int

    def of(self, held: ledger.Holding) -> ledger.Holding:
        """Return what the server holds after the move, each vCPU in its place."""
        return held.moved(self.source, self.target)


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """The bandwidth of each vCPU of a server, and the pCPUs that these run on."""

    bandwidth: int
    pcpus: frozenset[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """The pCPUs of a host and the servers that may be moved between them.

    :ivar capacity: by pCPU, the largest bandwidth admitted; 0 where none is
    :ivar left: by pCPU, the bandwidth left. What is missing here and belongs to no
        server of ``servers`` stays where it is.
    :ivar servers: those that may be moved, by name
    """

    capacity: tuple[int, ...]
    left: tuple[int, ...]
    servers: Mapping[str, Server]

    @classmethod
    def of(cls, host: shares.HostShares,
           holdings: Mapping[str, ledger.Holding]) -> 'Layout':
        """Return the layout of a host where a reservation occupies chosen pCPUs.

        :param host: with all that is held on it
        :param holdings: what the servers that may be moved hold on it, by name; a
            server that is being resized or migrated is none of them
        :raises MoveError: if a reservation occupies every pCPU, whichever it has
        """
        if host.occupancy is shares.Occupancy.EVERY:
            raise MoveError('Moves make no room on this host: its kernel has one runtime '
                            'for all pCPUs, so a reservation occupies every pCPU.')
        known = range(len(host.capacity))
        return cls(host.capacity, host.left, {
            name: Server(holding.reservation.bandwidth, frozenset(holding.pcpus))
            for name, holding in holdings.items() if all(map(known.__contains__, holding.pcpus))})

    @property
    def usable(self) -> list[int]:
        """The pCPUs that may hold reservations, ascending."""
        return [pcpu for pcpu, most in enumerate(self.capacity) if most]

    def after(self, move: Move) -> 'Layout':
        """Return the layout after a move.

        :raises MoveError: if it cannot be made
        """
        server = self.servers.get(move.server)
        if server is None or move.source not in server.pcpus:
            raise MoveError(f'Server {move.server} has no vCPU on pCPU {move.source}.')
        if server.bandwidth != move.bandwidth:
            raise MoveError(f'Server {move.server} has {bandwidth.percent(server.bandwidth)}, '
                            f'not {bandwidth.percent(move.bandwidth)}.')
        if move.target in server.pcpus:
            raise MoveError(f'Server {move.server} has a vCPU on pCPU {move.target} already.')
        if not 0 <= move.target < len(self.left) or self.left[move.target] < server.bandwidth:
            raise MoveError(f'pCPU {move.target} has no room for '
                            f'{bandwidth.percent(server.bandwidth)} of server {move.server}.')
        left = list(self.left)
        left[move.source] += server.bandwidth
        left[move.target] -= server.bandwidth
        pcpus = server.pcpus - {move.source} | {move.target}
        return Layout(self.capacity, tuple(left), {
            **self.servers, move.server: Server(server.bandwidth, pcpus)})
