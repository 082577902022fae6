# SPDX-License-Identifier: Apache-2.0
"""Estimates how many moves it takes to free bandwidth on a pCPU.

A vCPU that fits another pCPU goes there in one move. If a pCPU would fit it once
others have left, it takes as many more as these take. By number of moves, in
ascending order, the estimate follows such chains through the whole host, as if
each were alone: two that need the same room count on it twice.
"""

from nova_rt.defrag.board import Board


class Costs:
    """What so many moves can free on each pCPU, from where a board is now.

    :param keep: what a pCPU that has this much left must not lose
    :param most: how many moves are looked at
    :ivar of_server: by server, the moves until one of its vCPUs is elsewhere; more
        than ``most`` if it stays
    :ivar freed: by pCPU and number of moves, the bandwidth that can leave it
    """

    def __init__(self, board: Board, keep: int, most: int) -> None:
        self._board = board
        self._most = most
        self._spare = [left - keep if left >= keep else left for left in board.left]
        self.of_server = [most + 1] * len(board.sizes)
        self.freed = [[0] * (most + 1) for _ in board.left]
        waiting = list(range(len(board.sizes)))
        for moves in range(1, most + 1):
            waiting = self._follow(waiting, moves)

    def _follow(self, waiting: list[int], moves: int) -> list[int]:
        """Find the servers that so many moves take elsewhere; return the others."""
        rooms = sorted(((self._room(pcpu, moves - 1), pcpu) for pcpu in self._board.usable),
                       reverse=True)
        going: list[int] = []
        others: list[int] = []
        for server in waiting:
            size, where = self._board.sizes[server], self._board.where[server]
            room = next((room for room, pcpu in rooms if pcpu not in where), 0)
            (going if room >= size else others).append(server)
        for server in going:
            self.of_server[server] = moves
            for pcpu in self._board.where[server]:
                _add(self.freed[pcpu], moves, self._board.sizes[server])
        return others

    def _room(self, pcpu: int, moves: int) -> int:
        return self._spare[pcpu] + self.freed[pcpu][moves]

    def of_pcpu(self, pcpu: int, lack: int) -> int:
        """Return how many moves free so much on a pCPU; more than most if none do."""
        return next((moves for moves, freed in enumerate(self.freed[pcpu]) if freed >= lack),
                    self._most + 1)

    def leaving(self, pcpu: int, lack: int, moves: int) -> list[int]:
        """Return the servers on a pCPU with which so many moves may free so much.

        Those that take few moves first, then small ones.
        """
        sizes, here = self._board.sizes, self._board.held[pcpu]
        ranked = sorted((self.of_server[server], sizes[server], server) for server in here
                        if self.of_server[server] <= moves)
        return [server for cost, size, server in ranked
                if size >= lack or self._without(server, ranked, moves - cost) >= lack - size]

    def _without(self, left_out: int, ranked: list[tuple[int, int, int]], moves: int) -> int:
        freed = [0] * (moves + 1)
        for cost, size, server in ranked:
            if server != left_out:
                _add(freed, cost, size)
        return freed[moves]

    def targets(self, server: int, moves: int) -> list[int]:
        """Return the pCPUs that so many moves may let a server's vCPU into.

        Those that take few moves first, then the tightest.
        """
        size, where = self._board.sizes[server], self._board.where[server]
        ranked = []
        for pcpu in self._board.usable:
            cost = self.of_pcpu(pcpu, size - self._spare[pcpu])
            if cost <= moves and pcpu not in where:
                ranked.append((cost, self._room(pcpu, cost), pcpu))
        ranked.sort()
        return [pcpu for _, _, pcpu in ranked]


def _add(freed: list[int], cost: int, size: int) -> None:
    """Let one vCPU more leave, as in the knapsack problem: each once."""
    for moves in range(len(freed) - 1, cost - 1, -1):
        freed[moves] = max(freed[moves], freed[moves - cost] + size)
