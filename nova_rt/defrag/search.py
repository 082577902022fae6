# SPDX-License-Identifier: Apache-2.0
"""Finds few moves quickly, without certainty that there are none or no fewer.

A search in depth for plans of one move, of two, and so on. It frees one pCPU after
the other; a vCPU that has nowhere to go may push others away first, in chains. It
follows only what looks cheapest (:mod:`nova_rt.defrag.costs`), and gives up after a
number of steps, not after a time: the same layout always gives the same plan.
"""

from collections.abc import Callable

from nova_rt.defrag import bounds
from nova_rt.defrag.board import Board
from nova_rt.defrag.costs import Costs
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Move

# A step takes about 0.1 ms on 64 pCPUs.
STEPS = 100
# How many pCPUs are tried, of those to free and of those to go to.
_WIDTH = 6
_DIRECT = 3

# What is to be done with the moves that are left; whether that reached the goal.
_Then = Callable[[int], bool]


def find(layout: Layout, goal: Goal, most: int, steps: int = STEPS) -> tuple[Move, ...] | None:
    """Return moves in an order in which they can be made, None if none were found.

    :param most: how many moves at most
    :param steps: after how many steps to give up
    """
    board = Board(layout)
    fewest = bounds.fewest(board, goal)
    if fewest is None:
        return None
    search = _Search(board, goal, steps)
    for moves in range(fewest, most + 1):
        if search.reach(moves):
            return board.moves
    return None


class _Search:
    """A search from one layout; the board has the moves that are being tried."""

    def __init__(self, board: Board, goal: Goal, steps: int) -> None:
        self._board = board
        self._goal = goal
        self._steps = steps
        self._costs = Costs(board, goal.bandwidth, 0)

    def reach(self, moves: int) -> bool:
        """Reach the goal with at most so many moves more."""
        missing, candidates = bounds.lacking(self._board, self._goal)
        if missing <= 0:
            return True
        if len(candidates) < missing or moves < sum(
                leaving for leaving, _, _ in candidates[:missing]):
            return False
        outer, self._costs = self._costs, Costs(self._board, self._goal.bandwidth, moves)
        ranked = sorted((self._costs.of_pcpu(pcpu, lack), lack, pcpu)
                        for _, lack, pcpu in candidates)
        found = any(self._free(pcpu, self._goal.bandwidth, moves, (pcpu,), self.reach)
                    for pcpu in _affordable(ranked, missing, moves)[:_WIDTH])
        self._costs = outer
        return found

    def _free(self, pcpu: int, amount: int, moves: int, path: tuple[int, ...],
              then: _Then) -> bool:
        """Leave so much on a pCPU, then go on.

        :param path: the pCPUs that are being freed
        """
        lack = amount - self._board.left[pcpu]
        if lack <= 0:
            return then(moves)
        self._steps -= 1
        return self._steps >= 0 and any(
            self._evict(server, pcpu, moves, path,
                        lambda rest: self._free(pcpu, amount, rest, path, then))
            for server in self._costs.leaving(pcpu, lack, moves))

    def _evict(self, server: int, source: int, moves: int, path: tuple[int, ...],
               then: _Then) -> bool:
        """Move a server's vCPU from a pCPU to any other, then go on."""
        direct = self._board.targets(server, self._goal.bandwidth)
        if direct:
            return any(self._move(server, source, target, moves, then)
                       for target in direct[:_DIRECT])
        return any(self._follow(server, source, target, moves, (*path, target), then)
                   for target in self._costs.targets(server, moves - 1)[:_WIDTH]
                   if target not in path)

    def _follow(self, server: int, source: int, target: int, moves: int,
                path: tuple[int, ...], then: _Then) -> bool:
        """Let others leave the pCPU that a server's vCPU then goes to."""
        return self._free(target, self._board.sizes[server], moves - 1, path,
                          lambda rest: self._move(server, source, target, rest + 1, then))

    def _move(self, server: int, source: int, target: int, moves: int, then: _Then) -> bool:
        # Making room for it may have moved the server itself.
        where = self._board.where[server]
        if source not in where or target in where:
            return False
        self._board.move(server, source, target)
        if then(moves - 1):
            return True
        self._board.undo()
        return False


def _affordable(ranked: list[tuple[int, int, int]], missing: int, moves: int) -> list[int]:
    """Return the pCPUs that can be among those freed with so many moves.

    :param ranked: moves, bandwidth missing and pCPU, in ascending order
    :param missing: how many must be freed
    """
    costs = [cost for cost, _, _ in ranked]
    others = sum(costs[:missing - 1])
    return [pcpu for position, (cost, _, pcpu) in enumerate(ranked)
            if cost + (sum(costs[:missing]) - costs[position] if position < missing
                       else others) <= moves]
