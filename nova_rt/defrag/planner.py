# SPDX-License-Identifier: Apache-2.0
"""Plans moves on a host from what claim and ledger know of it."""

from collections.abc import Mapping

from nova_rt import bandwidth
from nova_rt import errors
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt import wording
from nova_rt.defrag import bounds
from nova_rt.defrag import exact
from nova_rt.defrag import search
from nova_rt.defrag.board import Board
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.plan import Plan

AT_CLAIM = 3
"""How many moves a claim makes at most: more let in little, for many moves."""

AT_DESK = 8
"""How many moves an operator's plan has at most, unless more are asked for."""


# How exactly the balance is sought: a tenth of a percent of a CPU.
_STEP = bandwidth.BW_UNIT // 1000


class NoPlanError(errors.NovaRTError):
    """There is no plan, or none was found; the message says which.

    :ivar proven: whether there is none
    """

    def __init__(self, message: str, proven: bool) -> None:
        super().__init__(message)
        self.proven = proven


def room(host: shares.HostShares, holdings: Mapping[str, ledger.Holding],
         wanted: reservation.Reservation, max_moves: int = AT_CLAIM) -> Plan | None:
    """Return moves that let a reservation in, None if none were found quickly.

    For a claim: it takes some milliseconds, and the same host gives the same plan.

    :param host: with all that is held on it
    :param holdings: what the servers that may be moved hold on it, by name; a server
        that is being resized or migrated is none of them
    """
    if host.occupancy is shares.Occupancy.EVERY:
        return None
    return _quick(Layout.of(host, holdings), Goal.room_for(wanted), max_moves)


def balance(host: shares.HostShares, holdings: Mapping[str, ledger.Holding],
            max_moves: int = AT_DESK) -> Plan:
    """Return moves that leave the fullest pCPU as much as was found to be possible.

    The plan has none if none do better.

    :param host, holdings: as for :func:`room`
    :raises MoveError: if a reservation occupies every pCPU
    """
    layout = Layout.of(host, holdings)
    usable = layout.usable
    left = [layout.left[pcpu] for pcpu in usable] or [0]
    low = min(left)
    best = Plan(layout, Goal(low, len(usable)), (), 0)
    # No layout leaves every pCPU more than a mean one has.
    high = sum(left) // len(left)
    while high - low >= _STEP:
        middle = (low + high + 1) // 2
        plan = _quick(layout, Goal(middle, len(usable)), max_moves)
        if plan is None:
            high = middle - 1
        else:
            best = plan
            low = min(plan.after.left[pcpu] for pcpu in usable)
    return best


def fewest(host: shares.HostShares, holdings: Mapping[str, ledger.Holding],
           goal: Goal, seconds: float, max_moves: int = AT_DESK) -> Plan:
    """Return the fewest moves that meet a goal; the plan says whether that is proven.

    :param host, holdings: as for :func:`room`
    :param seconds: after which the best plan so far is returned
    :raises NoPlanError: if there is none, or none was found
    :raises MoveError: if a reservation occupies every pCPU
    """
    layout = Layout.of(host, holdings)
    answer = exact.find(layout, goal, max_moves, seconds)
    if answer.moves is not None and answer.least is not None:
        return Plan(layout, goal, answer.moves, answer.least)
    if answer.proven:
        raise NoPlanError(f'No plan of at most {_moves(max_moves)} makes this room.', True)
    raise NoPlanError(
        f'No plan of at most {_moves(max_moves)} was found; there may be one: '
        f'{_how_to_know(seconds)}.', False)


def proof(plan: Plan, seconds: float) -> str:
    """Return a sentence on whether a plan of :func:`fewest` could be shorter."""
    if plan.proven:
        return 'No plan has fewer moves.'
    return (f'Every plan has at least {plan.least} move(s); whether fewer than '
            f'{len(plan.moves)} suffice is not known: {_how_to_know(seconds)}.')


def _moves(number: int) -> str:
    return wording.counted(number, 'move')


def _how_to_know(seconds: float) -> str:
    if exact.AVAILABLE:
        return f'more than {seconds:g} s may tell'
    return "OR-tools is needed to tell, so install 'nova-rt[defrag]'"


def _quick(layout: Layout, goal: Goal, most: int) -> Plan | None:
    moves = search.find(layout, goal, most)
    if moves is None:
        return None
    return Plan(layout, goal, moves, bounds.fewest(Board(layout), goal) or 0)
