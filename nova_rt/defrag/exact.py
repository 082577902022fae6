# SPDX-License-Identifier: Apache-2.0
"""Finds the fewest moves, with proof, within a time.

First what the quick search finds, if the bound says that there are no fewer. Then
CP-SAT: moves without their order, which is again a bound; then moves in one round,
in two, and so on. A plan of n moves has at most n rounds, so once that many have
been looked at, no plan is shorter, detours included.
"""

import dataclasses
import importlib.util
import time

from nova_rt.defrag import bounds
from nova_rt.defrag import search
from nova_rt.defrag.board import Board
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Move

AVAILABLE = importlib.util.find_spec('ortools') is not None


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What is known about the plans of at most some number of moves.

    :ivar moves: in an order in which they can be made; None if none were found
    :ivar least: no plan has fewer; None if there is no plan
    """

    moves: tuple[Move, ...] | None
    least: int | None

    @property
    def proven(self) -> bool:
        """Whether no plan has fewer moves, or there is none."""
        return self.least is None or (self.moves is not None and len(self.moves) == self.least)


def find(layout: Layout, goal: Goal, most: int, seconds: float) -> Answer:
    """Return the fewest moves that meet a goal.

    Without OR-tools, those that the quick search finds.

    :param most: how many moves at most
    :param seconds: wall-clock time after which the best found so far is returned
    """
    ends = time.monotonic() + seconds
    least = bounds.fewest(Board(layout), goal)
    if least is None or least > most:
        return Answer(None, None)
    answer = Answer(search.find(layout, goal, most), least)
    for rounds in range(most + 1 if AVAILABLE else 0):
        left = ends - time.monotonic()
        if answer.proven or left <= 0:
            break
        answer = _improved(layout, goal, answer, rounds, most, left)
    return answer


def _improved(layout: Layout, goal: Goal, answer: Answer, rounds: int, most: int,
              seconds: float) -> Answer:
    """Return an answer with what the plans of so many rounds add to it."""
    # Imported late: OR-tools loads pandas, and a claim needs neither.
    from nova_rt.defrag.rounds import Rounds
    moves, least = answer.moves, answer.least or 0
    shorter = most if moves is None else len(moves) - 1
    found = Rounds(layout, goal, rounds, least, shorter).solve(seconds)
    if rounds and found.moves is not None:
        moves = found.moves
    # Longer plans than there are rounds may have been left out.
    least = max(least, min(found.least, rounds + 1 if rounds else most + 1))
    return Answer(moves, least if least <= most else None)
