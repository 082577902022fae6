# SPDX-License-Identifier: Apache-2.0
"""About what a host would accept if moves were free, and at most if the future were known.

``python -m bench.hindsight`` prints two numbers for the servers of :mod:`bench.moves`. Each
asks only whether the vCPUs that are there together pass every dual feasible function, which
all do that fit so many pCPUs in any layout:

* Who refuses just what does not pass accepts the first. It is an estimate, no bound: what
  passes may still not fit, and then keeps others out.
* CP-SAT chooses what to refuse, knowing who comes and goes: no policy, and no number of
  moves, accepts more than the second.
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

    They are the share itself, and u, U and phi of Fekete and Schepers, "New classes of fast
    lower bounds for bin packing problems" (2001), scaled to integers.
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
    """Print both for each mix and seed."""
    for mix in (acceptance.MIXED, acceptance.LARGE):
        both = [_both(mix, seed) for seed in acceptance.SEEDS]
        for seed, (refusing_nothing, knowing) in zip(acceptance.SEEDS, both, strict=True):
            print(f'{mix.name}, seed {seed}: refusing nothing that may fit about '
                  f'{refusing_nothing:.2f}%, knowing the future at most {knowing:.2f}%',
                  flush=True)
        print(f'{mix.name}, median: ' + ', '.join(
            f'{statistics.median(column):.2f}%' for column in zip(*both, strict=True)))


def _both(mix: cloud.Mix, seed: int) -> tuple[float, float]:
    servers = list(cloud.arrivals(mix, moves.PCPUS, moves.LOAD / 100, acceptance.SERVERS, seed))
    wanted = [reservation for _, _, reservation in servers]
    weights = functions(sorted({each.bandwidth for each in wanted}), cloud.CAP)
    crowds = list(_together([(come, go) for come, go, _ in servers]))
    measured = acceptance.SERVERS - cloud.FIRST
    return (100 * _refusing_nothing(wanted, weights, crowds) / measured,
            100 * _knowing(wanted, weights, crowds) / measured)


def _together(times: Sequence[tuple[float, float]]) -> Iterator[list[int]]:
    """Yield for each server those that would be there when it comes, itself the last."""
    there: list[int] = []
    for number, (now, _) in enumerate(times):
        there = [each for each in there if times[each][1] > now] + [number]
        yield there


def _refusing_nothing(wanted: Sequence[reservation.Reservation], weights: Sequence[Weights],
                      crowds: Iterable[Sequence[int]]) -> int:
    accepted: set[int] = set()
    for crowd in crowds:
        together = [wanted[each] for each in crowd[:-1] if each in accepted]
        together.append(wanted[crowd[-1]])
        if all(each.total(together) <= each.most * moves.PCPUS for each in weights):
            accepted.add(crowd[-1])
    return sum(number >= cloud.FIRST for number in accepted)


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
