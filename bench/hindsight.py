# SPDX-License-Identifier: Apache-2.0
"""What a host accepts at most, if moves are free and the future is known.

``python -m bench.hindsight`` prints a bound for the servers of :mod:`bench.moves`. CP-SAT
chooses what to refuse, knowing who comes and goes, so that the vCPUs that are there together
always pass every dual feasible function; all do that fit so many pCPUs in any layout. So no
policy, and no number of moves, accepts more.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import statistics

from ortools.sat.python import cp_model

from bench import acceptance
from bench import cloud
from bench import moves
from nova_rt import reservation

SECONDS = 120
# Of the family u(k) as many as were found to bind.
_STEPS = range(1, 12)


@dataclasses.dataclass(frozen=True)
class Weights:
    """A dual feasible function: what fits a pCPU weighs no more than the most.

    :ivar of: the weight of a vCPU, by its bandwidth
    """

    of: dict[int, int]
    most: int

    def total(self, servers: Iterable[reservation.Reservation]) -> int:
        """Return what servers weigh together."""
        return sum(self.of[each.bandwidth] * each.vcpus for each in servers)


def functions(sizes: Sequence[int], capacity: int) -> list[Weights]:
    """Return dual feasible functions of these sizes.

    They are the share itself; u and U of Fekete and Schepers, "New classes of fast lower
    bounds for bin packing problems" (2001); and f2 of Carlier, Clautiaux and Moukrim, "New
    reduction procedures and lower bounds for the two-dimensional bin packing problem with
    fixed orientation" (2007). All are scaled to integers.
    """
    found = [Weights({size: size for size in sizes}, capacity)]
    for steps in _STEPS:
        found.append(Weights(
            {size: size * steps if (steps + 1) * size % capacity == 0
             else (steps + 1) * size // capacity * capacity for size in sizes},
            capacity * steps))
    for least in (size for size in sizes if 2 * size <= capacity):
        found.append(Weights(
            {size: capacity if size > capacity - least else size if size >= least else 0
             for size in sizes}, capacity))
        parts = capacity // least
        found.append(Weights(
            {size: 2 * (parts - (capacity - size) // least) if 2 * size > capacity
             else parts if 2 * size == capacity else 2 * (size // least) for size in sizes},
            2 * parts))
    return found


def main() -> None:
    """Print the bound for each mix and seed."""
    for mix in (acceptance.MIXED, acceptance.LARGE):
        found = []
        for seed in acceptance.SEEDS:
            found.append(most(mix, seed))
            print(f'{mix.name}, seed {seed}: at most {found[-1]:.2f}%', flush=True)
        print(f'{mix.name}, median: {statistics.median(found):.2f}%')


def most(mix: cloud.Mix, seed: int) -> float:
    """Return how many percent of a mix's servers are accepted at most."""
    servers = list(cloud.arrivals(mix, moves.PCPUS, moves.LOAD / 100, acceptance.SERVERS, seed))
    wanted = [reservation for _, _, reservation in servers]
    weights = functions(sorted({each.bandwidth for each in wanted}), cloud.CAP)
    crowds = _together([(come, go) for come, go, _ in servers])
    return 100 * _knowing(wanted, weights, crowds) / (acceptance.SERVERS - cloud.FIRST)


def _together(times: Sequence[tuple[float, float]]) -> Iterator[list[int]]:
    """Yield for each server those that would be there when it comes, itself the last."""
    there: list[int] = []
    for number, (now, _) in enumerate(times):
        there = [each for each in there if times[each][1] > now] + [number]
        yield there


def _knowing(wanted: Sequence[reservation.Reservation], weights: Sequence[Weights],
             crowds: Iterable[Sequence[int]]) -> float:
    model = cp_model.CpModel()
    taken = [model.new_bool_var(f'{number}') for number in range(len(wanted))]
    for crowd in crowds:
        for each in weights:
            if each.total(wanted[number] for number in crowd) > each.most * moves.PCPUS:
                model.add(sum(each.of[wanted[number].bandwidth] * wanted[number].vcpus
                              * taken[number] for number in crowd) <= each.most * moves.PCPUS)
    model.maximize(sum(taken[cloud.FIRST:]))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = SECONDS
    solver.solve(model)
    return solver.best_objective_bound


if __name__ == '__main__':
    main()
