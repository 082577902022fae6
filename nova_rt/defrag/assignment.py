# SPDX-License-Identifier: Apache-2.0
"""Which server is on which pCPUs of which host at the end, for OR-tools' CP-SAT.

Only the end must fit, in whatever order it is reached, and a server that is migrated may
have any pCPUs, not only those that a claim would choose. So no plan is cheaper than the
cheapest assignment; whether that can be carried out has to be tried.
"""

from collections import defaultdict
from collections.abc import Iterable
import dataclasses
from typing import TypeAlias

from ortools.sat.python import cp_model

from nova_rt.defrag import bounds
from nova_rt.defrag import cp_sat
from nova_rt.defrag.cloud import Cloud
from nova_rt.defrag.cloud import Guest
from nova_rt.defrag.cloud import Wanted
from nova_rt.defrag.limits import Limits

# Host and pCPU.
_Spot: TypeAlias = tuple[str, int]

LARGEST = 60_000
"""How many variables of the form "this server is on this pCPU" are still tried."""


@dataclasses.dataclass(frozen=True, slots=True)
class Solution:
    """What the solver found in its time.

    :ivar targets: by server that is migrated, the host that it leaves and the one it goes
        to; None if no assignment was found
    :ivar host: that has the room
    :ivar least: no assignment costs less; None if there is none
    """

    targets: dict[str, tuple[str, str]] | None
    host: str
    least: int | None


def is_too_large(cloud: Cloud) -> bool:
    """Return whether a cloud takes more variables than are tried, about."""
    size = 0
    for source, host in cloud.hosts.items():
        for server, guest in host.guests.items():
            size += sum(len(there.shares.capacity) for target, there in cloud.hosts.items()
                        if cloud.allows(server, source, target)
                        or (target == source and guest.moves))
            if size > LARGEST:
                return True
    return False


class Assignment:
    """The assignments that give a host the room that is wanted.

    :param below: what they cost less than, None if that does not matter
    """

    def __init__(self, cloud: Cloud, wanted: Wanted, limits: Limits,
                 below: int | None = None) -> None:
        self._cloud = cloud
        self._wanted = wanted
        self._model = cp_model.CpModel()
        # By pCPU: who is there, with how much.
        self._there: dict[_Spot, list[tuple[cp_model.IntVar, int]]] = defaultdict(list)
        self._held: dict[_Spot, list[tuple[cp_model.IntVar, int]]] = defaultdict(list)
        self._base = {(name, pcpu): left for name, host in cloud.hosts.items()
                      for pcpu, left in enumerate(host.shares.left)}
        self._coming: dict[_Spot, list[cp_model.IntVar]] = defaultdict(list)
        # By host and resource class, what comes and what goes.
        self._changes: dict[tuple[str, str], list[tuple[cp_model.LiteralT, int]]] = (
            defaultdict(list))
        self._on: dict[str, dict[str, cp_model.IntVar]] = {}
        self._source: dict[str, str] = {}
        self._moves: list[cp_model.IntVar] = []
        self._add_guests()
        self._goals = {name: self._model.new_bool_var('') for name in wanted.hosts}
        self._model.add_exactly_one(self._goals.values())
        self._admit()
        self._meet()
        migrations = [(on[target], cloud.migration(server, self._source[server], target).cost)
                      for server, on in self._on.items() for target in on
                      if target != self._source[server]]
        self._limit(migrations, limits, below)

    def solve(self, seconds: float) -> Solution:
        """Return the cheapest assignment that can be found within a time.

        :param seconds: wall-clock time
        """
        solver = cp_sat.solver(seconds)
        status = solver.solve(self._model)
        if status == cp_model.INFEASIBLE:
            return Solution(None, '', None)
        least = max(0, round(solver.best_objective_bound))
        if status == cp_model.UNKNOWN:
            return Solution(None, '', least)
        return Solution(
            {server: (self._source[server], target) for server, on in self._on.items()
             for target, here in on.items()
             if target != self._source[server] and solver.boolean_value(here)},
            next(name for name, goal in self._goals.items() if solver.boolean_value(goal)),
            least)

    def exclude(self, found: Solution) -> None:
        """Look no more at these migrations alone, for room on this host."""
        targets = found.targets or {}
        self._model.add_bool_or(
            *(on[targets[server][1]].negated() if server in targets
              else on[self._source[server]].negated() for server, on in self._on.items()),
            self._goals[found.host].negated())

    def _add_guests(self) -> None:
        for source, host in self._cloud.hosts.items():
            for server, guest in host.guests.items():
                targets = [target for target in self._cloud.hosts
                           if self._cloud.allows(server, source, target)]
                if targets or (guest.moves and host.moves):
                    self._add_guest(server, guest, source, targets)

    def _add_guest(self, server: str, guest: Guest, source: str,
                   targets: Iterable[str]) -> None:
        held = guest.holding
        on = {name: self._model.new_bool_var('') for name in (source, *targets)}
        self._on[server], self._source[server] = on, source
        self._model.add_exactly_one(on.values())
        for pcpu in held.pcpus:
            if (source, pcpu) in self._base:
                self._base[source, pcpu] += held.reservation.bandwidth
        for name, here in on.items():
            self._place(guest, name, here, own=name == source)
            for resource, amount in (guest.leaves if name == source else guest.needs).items():
                self._changes[name, resource].append(
                    (here.negated(), -amount) if name == source else (here, amount))

    def _place(self, guest: Guest, name: str, here: cp_model.IntVar, own: bool) -> None:
        """Say on which pCPUs of a host a server may be if it is on that host."""
        host, wanted = self._cloud.hosts[name], guest.holding.reservation
        known = range(len(host.shares.capacity))
        mine = [pcpu for pcpu in guest.holding.pcpus if own and pcpu in known]
        stays = own and not (guest.moves and host.moves)
        spots = dict.fromkeys(mine, here) if stays else {
            pcpu: self._model.new_bool_var('') for pcpu in known
            if pcpu in mine or host.shares.capacity[pcpu] >= wanted.bandwidth}
        if not stays:
            self._model.add(sum(spots.values()) == here * (
                len(mine) if own else wanted.vcpus))
        for pcpu, there in spots.items():
            self._there[name, pcpu].append((there, wanted.bandwidth))
            if pcpu in mine:
                self._held[name, pcpu].append((there, wanted.bandwidth))
                continue
            self._coming[name, pcpu].append(there)
            if own:
                self._moves.append(there)

    def _admit(self) -> None:
        """Let no pCPU hold more than it can, and no host more than Placement allocates."""
        for spot, load in self._there.items():
            name, pcpu = spot
            fits = self._model.add(_sum(load) <= self._base[spot])
            if self._cloud.hosts[name].shares.left[pcpu] < 0:
                # The cap was lowered: what is there may stay as long as nothing comes.
                comes = self._model.new_bool_var('')
                self._model.add_max_equality(comes, [*self._coming[spot], 0])
                fits.only_enforce_if(comes)
        for (name, resource), changes in self._changes.items():
            left = max(0, self._cloud.hosts[name].left.get(resource, 0))
            self._model.add(_sum(changes) <= left)

    def _meet(self) -> None:
        wanted = self._wanted.reservation
        for name, goal in self._goals.items():
            host = self._cloud.hosts[name]
            met = []
            for pcpu in host.layout.usable:
                met.append(self._model.new_bool_var(''))
                self._free((name, pcpu), wanted.bandwidth - host.shares.left[pcpu], met[-1])
                self._model.add(
                    _sum(self._there[name, pcpu]) <= self._base[name, pcpu] - wanted.bandwidth,
                ).only_enforce_if(met[-1])
            self._model.add(sum(met) >= wanted.vcpus).only_enforce_if(goal)
            for resource, amount in self._wanted.needs.items():
                self._model.add(
                    _sum(self._changes[name, resource]) <= host.left.get(resource, 0) - amount,
                ).only_enforce_if(goal)

    def _free(self, spot: _Spot, lack: int, met: cp_model.IntVar) -> None:
        """Say how many vCPUs must leave a pCPU: the solver alone would have to try."""
        held = self._held[spot]
        leaving = bounds.departures(lack, [bandwidth for _, bandwidth in held])
        if lack > 0 and leaving is None:
            self._model.add(met == 0)
        elif lack > 0:
            self._model.add(sum(here for here, _ in held) <= len(held) - (leaving or 0) * met)

    def _limit(self, migrations: list[tuple[cp_model.IntVar, int]], limits: Limits,
               below: int | None) -> None:
        gone = [there for there, _ in migrations]
        cost = _sum([*migrations, *((moved, 1) for moved in self._moves)])
        self._model.add(sum(gone) <= limits.migrations)
        self._model.add(sum(gone) + sum(self._moves) <= limits.steps)
        if below is not None:
            self._model.add(cost <= below - 1)
        self._model.minimize(cost)


def _sum(weighted: Iterable[tuple[cp_model.LiteralT, int]]) -> cp_model.LinearExprT:
    pairs = list(weighted)
    return cp_model.LinearExpr.weighted_sum([variable for variable, _ in pairs],
                                            [weight for _, weight in pairs])
