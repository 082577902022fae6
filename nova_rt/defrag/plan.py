# SPDX-License-Identifier: Apache-2.0
"""A plan: moves, in an order in which each can be made when its turn comes."""

from collections.abc import Iterator
import dataclasses

from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Move


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Moves that meet a goal, one after the other.

    A plan may be stopped after any move, and what is left of it continued later: each
    move says what it expects, and :meth:`Layout.after` refuses it elsewhere.

    :ivar before: the layout that it starts from
    :ivar goal: what it meets at its end
    :ivar moves: none if the goal is met already
    :ivar least: no plan has fewer moves
    """

    before: Layout
    goal: Goal
    moves: tuple[Move, ...]
    least: int

    @property
    def proven(self) -> bool:
        """Whether no plan has fewer moves."""
        return len(self.moves) == self.least

    @property
    def bandwidth(self) -> int:
        """Bandwidth moved, in fixed point."""
        return sum(move.bandwidth for move in self.moves)

    def layouts(self) -> Iterator[Layout]:
        """Yield the layout after each move.

        :raises MoveError: if a move cannot be made
        """
        layout = self.before
        for move in self.moves:
            layout = layout.after(move)
            yield layout

    @property
    def after(self) -> Layout:
        """The layout at the end."""
        return [self.before, *self.layouts()][-1]
