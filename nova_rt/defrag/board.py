# SPDX-License-Identifier: Apache-2.0
"""A layout on which a search makes moves and takes them back."""

from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Move


class Board:
    """A layout that changes in place; servers are numbers.

    :ivar usable: the pCPUs that may hold reservations
    :ivar left: by pCPU, the bandwidth left
    :ivar sizes: by server, the bandwidth of each of its vCPUs
    :ivar where: by server, the pCPUs that it runs on
    :ivar held: by pCPU, the servers that may be moved away
    """

    def __init__(self, layout: Layout) -> None:
        self.usable = layout.usable
        self.left = list(layout.left)
        self._names = list(layout.servers)
        self.sizes = [server.bandwidth for server in layout.servers.values()]
        self.where = [set(server.pcpus) for server in layout.servers.values()]
        self.held: list[set[int]] = [set() for _ in self.left]
        for server, pcpus in enumerate(self.where):
            for pcpu in pcpus:
                self.held[pcpu].add(server)
        self._moves: list[tuple[int, int, int]] = []

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves made so far."""
        return tuple(Move(self._names[server], source, target, self.sizes[server])
                     for server, source, target in self._moves)

    def move(self, server: int, source: int, target: int) -> None:
        """Make a move that can be made."""
        self._moves.append((server, source, target))
        self._shift(server, source, target)

    def undo(self) -> None:
        """Take the last move back."""
        server, source, target = self._moves.pop()
        self._shift(server, target, source)

    def _shift(self, server: int, source: int, target: int) -> None:
        self.left[source] += self.sizes[server]
        self.left[target] -= self.sizes[server]
        self.held[source].remove(server)
        self.held[target].add(server)
        self.where[server].remove(source)
        self.where[server].add(target)

    def targets(self, server: int, keep: int) -> list[int]:
        """Return the pCPUs with room for one vCPU more of a server, tightest first.

        Of those with as much left as each other, one.

        :param keep: what a pCPU that has this much left must not lose
        """
        size, where, left = self.sizes[server], self.where[server], self.left
        by_left = {left[pcpu]: pcpu for pcpu in reversed(self.usable)
                   if left[pcpu] >= size and pcpu not in where
                   and not left[pcpu] - size < keep <= left[pcpu]}
        return [by_left[free] for free in sorted(by_left)]
