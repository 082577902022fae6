# SPDX-License-Identifier: Apache-2.0
"""How many moves a goal takes at least, and whether any number suffices.

Both are quick and sure, but not sharp: a goal may need more moves than the bound,
and may be out of reach although nothing here says so.
"""

import bisect
from collections.abc import Iterable
from collections.abc import Sequence
import itertools
import operator

from nova_rt.defrag.board import Board
from nova_rt.defrag.goal import Goal


def lacking(board: Board, goal: Goal) -> tuple[int, list[tuple[int, int, int]]]:
    """Return how many pCPUs lack bandwidth for a goal, and which could be freed.

    :returns: how many more must have it; and for each that has it not, but would if
        enough vCPUs left it: how many at least, the bandwidth missing, and the pCPU,
        in ascending order
    """
    missing, candidates = goal.pcpus, []
    for pcpu in board.usable:
        lack = goal.bandwidth - board.left[pcpu]
        if lack <= 0:
            missing -= 1
            continue
        leaving = departures(lack, (board.sizes[server] for server in board.held[pcpu]))
        if leaving is not None:
            candidates.append((leaving, lack, pcpu))
    candidates.sort()
    return missing, candidates


def departures(lack: int, sizes: Iterable[int]) -> int | None:
    """Return how many vCPUs must at least leave; None if all are too few."""
    for number, size in enumerate(sorted(sizes, reverse=True), 1):
        lack -= size
        if lack <= 0:
            return number
    return None


def fewest(board: Board, goal: Goal) -> int | None:
    """Return a number of moves below which the goal is not met; None if none does.

    Each pCPU that is to be freed must be left by some vCPUs, whatever else moves.
    """
    missing, candidates = lacking(board, goal)
    if missing <= 0:
        return 0
    if len(candidates) < missing or not _may_be_packed(board, goal):
        return None
    return sum(leaving for leaving, _, _ in candidates[:missing])


def _may_be_packed(board: Board, goal: Goal) -> bool:
    """Return whether the bound lets everything fit, and what the goal is for."""
    # Where the cap was lowered, what is there may stay.
    capacity = [max(0, left) for left in board.left]
    sizes = [goal.bandwidth] * goal.pcpus
    for size, pcpus in zip(board.sizes, board.where, strict=True):
        sizes += [size] * len(pcpus)
        for pcpu in pcpus:
            capacity[pcpu] += size
    return bins(sizes, max(capacity)) <= sum(map(bool, capacity))


def bins(sizes: Sequence[int], capacity: int) -> int:
    """Return how many bins are at least needed to pack items.

    The bound L2 of Martello and Toth, "Lower bounds and reduction procedures for
    the bin packing problem" (1990): items of at least some size, of which the large
    ones cannot share a bin, and the small ones fill what these leave.

    :param sizes: of the items, none above the capacity
    :param capacity: of each bin
    """
    ranked = sorted(sizes, reverse=True)
    sums = [0, *itertools.accumulate(ranked)]
    large = _over(ranked, capacity // 2)
    most = large
    for least in {0, *ranked[large:]}:
        alone = min(large, _over(ranked, capacity - least))
        beside = (large - alone) * capacity - (sums[large] - sums[alone])
        small = sums[_over(ranked, least - 1)] - sums[large]
        most = max(most, large + -(-(small - beside) // capacity))
    return most


def _over(ranked: Sequence[int], size: int) -> int:
    """Return how many items are larger; they are in descending order."""
    return bisect.bisect_left(ranked, -size, key=operator.neg)
