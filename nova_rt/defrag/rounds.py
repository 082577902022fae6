# SPDX-License-Identifier: Apache-2.0
"""Moves as a constraint programme for OR-tools' CP-SAT.

In a round any number of vCPUs claim their new pCPUs, beside everything that was held
before, and then release the old ones. So the moves of a round can be made one after the
other in any order, and any plan of n moves is n rounds of one. Without order, only the
layout at the end must fit: no plan has fewer moves than that.
"""

from collections.abc import Iterator
import dataclasses
from typing import TypeAlias

from ortools.sat.python import cp_model

from nova_rt.defrag import bounds
from nova_rt.defrag import cp_sat
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Move

# A variable, or what is known from the start.
_Literal: TypeAlias = cp_model.IntVar | bool
# By server, by pCPU where a vCPU of it may be: whether one is.
_Places: TypeAlias = dict[str, dict[int, _Literal]]


@dataclasses.dataclass(frozen=True, slots=True)
class Solution:
    """What the solver found in its time.

    :ivar moves: in the order of their rounds; None if none were found
    :ivar least: there are none with fewer
    """

    moves: tuple[Move, ...] | None
    least: int


class Rounds:
    """The plans of so many rounds that meet a goal.

    :param layout: where the servers are
    :param rounds: how many; 0 for one without order
    :param least: a number of moves that is known to be needed
    :param most: how many moves at most
    """

    def __init__(self, layout: Layout, goal: Goal, rounds: int, least: int, most: int) -> None:
        self._layout = layout
        self._least = least
        self._most = most
        self._model = cp_model.CpModel()
        self._base = list(layout.left)
        for server in layout.servers.values():
            for pcpu in server.pcpus:
                self._base[pcpu] += server.bandwidth
        self._places: list[_Places] = [
            {name: dict.fromkeys(server.pcpus, True) for name, server in layout.servers.items()}]
        self._moves: list[_Literal] = []
        for _ in range(max(1, rounds)):
            self._add_round(ordered=rounds > 0)
        self._meet(goal)
        # The solver would take long to find the bound by itself.
        self._model.add_linear_constraint(sum(self._moves), least, most)
        self._model.minimize(sum(self._moves))

    def solve(self, seconds: float) -> Solution:
        """Return the fewest moves that can be found within a time.

        :param seconds: wall-clock time
        """
        solver = cp_sat.solver(seconds)
        status = solver.solve(self._model)
        if status == cp_model.INFEASIBLE:
            return Solution(None, self._most + 1)
        least = max(self._least, round(solver.best_objective_bound))
        if status == cp_model.UNKNOWN:
            return Solution(None, least)
        return Solution(tuple(self._made(solver)), least)

    def _add_round(self, ordered: bool) -> None:
        before = self._places[-1]
        after: _Places = {}
        arrivals: _Places = {}
        for name, server in self._layout.servers.items():
            here = {pcpu: self._model.new_bool_var('') for pcpu, most in enumerate(self._base)
                    if server.bandwidth <= most or pcpu in server.pcpus}
            after[name] = dict(here)
            arrivals[name] = {pcpu: self._arrival(before[name].get(pcpu, False), variable)
                              for pcpu, variable in here.items()}
            self._model.add(sum(here.values()) == len(server.pcpus))
            for pcpu, variable in here.items():
                self._model.add_hint(variable, pcpu in server.pcpus)
        for pcpu in range(len(self._base)):
            if ordered:
                self._admit(pcpu, before, arrivals)
            else:
                self._admit(pcpu, after, {})
        self._places.append(after)
        self._moves += [came for places in arrivals.values() for came in places.values()
                        if came is not False]

    def _arrival(self, before: _Literal, after: cp_model.IntVar) -> _Literal:
        """Return whether a vCPU has come."""
        if isinstance(before, bool):
            return False if before else after
        came = self._model.new_bool_var('')
        self._model.add(after <= before + came)
        return came

    def _admit(self, pcpu: int, held: _Places, arriving: _Places) -> None:
        """Let a pCPU hold no more than it can, with all that arrives."""
        load = self._load(pcpu, held, arriving)
        if self._layout.left[pcpu] >= 0:
            self._model.add(load <= self._base[pcpu])
            return
        # The cap was lowered: what is there may stay, but nothing may come.
        for came in (places[pcpu] for places in arriving.values() if pcpu in places):
            self._model.add(load <= self._base[pcpu]).only_enforce_if(came)

    def _meet(self, goal: Goal) -> None:
        met = []
        for pcpu in self._layout.usable:
            met.append(self._model.new_bool_var(''))
            self._model.add(
                self._load(pcpu, self._places[-1]) <= self._base[pcpu] - goal.bandwidth,
            ).only_enforce_if(met[-1])
            self._leave(pcpu, goal.bandwidth - self._layout.left[pcpu], met[-1])
        self._model.add(sum(met) >= goal.pcpus)

    def _leave(self, pcpu: int, lack: int, met: cp_model.IntVar) -> None:
        """Say how many vCPUs must leave: the solver alone would have to try."""
        held = [name for name, server in self._layout.servers.items() if pcpu in server.pcpus]
        leaving = bounds.departures(lack, [self._layout.servers[name].bandwidth for name in held])
        if lack > 0:
            if leaving is None:
                self._model.add(met == 0)
            else:
                self._model.add(sum(self._places[-1][name][pcpu] for name in held)
                                <= len(held) - leaving * met)

    def _load(self, pcpu: int, *several: _Places) -> cp_model.LinearExprT:
        """Return the bandwidth on a pCPU of those that are there."""
        here = [(pcpus[pcpu], self._layout.servers[name].bandwidth) for places in several
                for name, pcpus in places.items() if pcpu in pcpus]
        return cp_model.LinearExpr.weighted_sum([literal for literal, _ in here],
                                                [bandwidth for _, bandwidth in here])

    def _made(self, solver: cp_model.CpSolver) -> Iterator[Move]:
        for before, after in zip(self._places, self._places[1:], strict=False):
            for name, server in self._layout.servers.items():
                old, new = (_true(solver, places[name]) for places in (before, after))
                for source, target in zip(sorted(old - new), sorted(new - old), strict=True):
                    yield Move(name, source, target, server.bandwidth)


def _true(solver: cp_model.CpSolver, places: dict[int, _Literal]) -> set[int]:
    return {pcpu for pcpu, here in places.items() if solver.boolean_value(here)}
