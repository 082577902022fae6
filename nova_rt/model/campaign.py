# SPDX-License-Identifier: Apache-2.0
"""Try synthesised reservations against bad arrivals and many random ones.

A deadline missed here, or a response longer than its bound, is a defect of
the analysis, of the synthesis or of the simulator.
"""

from collections.abc import Sequence
import dataclasses
import random

import numpy as np
import numpy.typing as npt

from nova_rt.model import adversary
from nova_rt.model import arrays
from nova_rt.model import engine
from nova_rt.model import fixed_priority
from nova_rt.model import generate
from nova_rt.model import simulator
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_
from nova_rt.model.jit import jit
from nova_rt.model.jit import jit_anew

BINS = 1000
# Generator, local scheduler, number of vCPUs.
Cell = tuple[str, str, int]


@dataclasses.dataclass(frozen=True)
class Tally:
    """What many simulations of one reservation saw.

    :ivar runs: simulations
    :ivar events: scheduling events in all of them
    :ivar misses: jobs that were late
    :ivar worst: largest response time over deadline
    :ivar histogram: jobs by response time over deadline, 1000 bins up to 1
        and one for more
    """

    runs: int
    events: int
    misses: int
    worst: float
    histogram: arrays.Ints

    def __add__(self, other: 'Tally') -> 'Tally':
        return Tally(self.runs + other.runs, self.events + other.events,
                     self.misses + other.misses, max(self.worst, other.worst),
                     self.histogram + other.histogram)


def late_supply(resource: supply.Resource
                ) -> tuple[list[simulator.Server], list[simulator.Server]]:
    """Return servers and a load that together supply as late as can be.

    At time 0 every budget has just been exhausted as early as it could be;
    each refill is then used as late as the load's equal deadline allows:
    nothing for 2 (P - Q), the blackout of the supply bound.
    """
    runtime, period = resource.runtime_us, resource.period_us
    rest = period - runtime
    servers = [simulator.Server(pcpu, runtime, period, rest)
               for pcpu in range(resource.vcpus)]
    load = [simulator.Server(pcpu, rest, period, rest)
            for pcpu in range(resource.vcpus)] if rest else []
    return servers, load


def worst_case(tasks: Sequence[tasks_.Task],
               resource: supply.Resource) -> Tally:
    """Run periodic arrivals of full length at the start of a blackout.

    Once all together; then, for each task, with the others' previous jobs
    ending just before it arrives, as the analysis imagines carry-in.
    """
    servers, load = late_supply(resource)
    order = tasks_.deadline_monotonic(tasks)
    group = simulator.Group(servers, tasks, order)
    bounds = fixed_priority.analyse(tasks, resource).response_us
    horizon = 6 * max(task.period_us for task in tasks)
    total = _tally(simulator.simulate([group], horizon, load))
    for victim in range(len(tasks)):
        offsets = [
            0 if index == victim else
            task.period_us - (bounds[index] or task.deadline_us)
            + task.wcet_us for index, task in enumerate(tasks)]
        total += _tally(simulator.simulate(
            [group], horizon, load,
            simulator.periodic(tasks, horizon, offsets)))
    return total


def _tally(outcome: simulator.Outcome) -> Tally:
    histogram = np.zeros(BINS + 1, dtype=np.int64)
    worst = 0.0
    for task, deadline in enumerate(outcome.deadlines):
        ratio = outcome.responses(task) / deadline
        if ratio.size:
            worst = max(worst, float(ratio.max()))
        np.add.at(histogram, np.minimum(
            BINS, (ratio * BINS).astype(np.int64)), 1)
    return Tally(1, outcome.events, len(outcome.misses()), worst, histogram)


def random_cases(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                 runs: int, seed: int) -> Tally:
    """Run random arrivals, execution times, phases and loads.

    Half of the tasks arrive as often as they may, the others up to half a
    period later; half of the jobs need all their time. Servers and loads
    begin at random places of their periods.
    """
    servers, load = late_supply(resource)
    order = tasks_.deadline_monotonic(tasks)
    horizon = 2 * max(task.period_us for task in tasks) + resource.period_us
    world = simulator.build(
        [simulator.Group(servers, tasks, order)], load,
        *simulator.periodic(tasks, horizon))
    everything = [*load, *servers]
    state = simulator.start(world, everything, 0)
    fresh = simulator.start(world, everything, 0)
    periods = np.array([task.period_us for task in tasks], dtype=np.int64)
    wcets = np.array([task.wcet_us for task in tasks], dtype=np.int64)
    histogram = np.zeros(BINS + 1, dtype=np.int64)
    results = np.zeros(2, dtype=np.int64)
    worst = np.zeros(1)
    _repeat(world, state, fresh, periods, wcets, len(load), horizon,
            runs, seed, histogram, results, worst)
    return Tally(runs, int(results[0]), int(results[1]), float(worst[0]),
                 histogram)


@jit_anew
def _repeat(world: arrays.World, state: arrays.State, fresh: arrays.State,
            periods: arrays.Ints, wcets: arrays.Ints, loads: int,
            horizon: int, runs: int, seed: int, histogram: arrays.Ints,
            results: arrays.Ints, worst: npt.NDArray[np.float64]) -> None:
    np.random.seed(seed)
    for _ in range(runs):
        _reset(state, fresh)
        _shuffle_servers(world, state, loads)
        _draw(world, periods, wcets, horizon)
        results[0] += engine.run(world, state, horizon, 0)
        results[1] += _count(world, state, periods.size, horizon, histogram,
                             worst)


@jit
def _reset(state: arrays.State, fresh: arrays.State) -> None:
    state.task[:] = engine.NONE
    state.server[:] = engine.NONE
    state.slept[:] = fresh.slept
    state.ready[:] = 0
    state.served[:] = 0
    state.woke[:] = engine.NONE
    state.stale[:] = 0
    state.active[:] = 0
    state.left[:] = 0
    state.current[:] = 0
    state.arrived[:] = 0
    state.running[:] = engine.NONE
    state.finish[:, :] = engine.NONE


@jit
def _shuffle_servers(world: arrays.World, state: arrays.State,
                     loads: int) -> None:
    for server in range(world.cpu.size):
        rest = world.period[server] - world.runtime[server]
        # A load is throttled; a group's server may be, or have any budget
        # that its bandwidth allows until its deadline.
        state.until[server] = np.random.randint(0, rest + 1)
        state.throttled[server] = 1
        state.slept[server] = engine.NONE
        state.budget[server] = 0
        if server >= loads and np.random.randint(0, 2):
            state.throttled[server] = 0
            state.budget[server] = world.runtime[server]
            state.until[server] = 0
            state.slept[server] = 0


@jit
def _draw(world: arrays.World, periods: arrays.Ints, wcets: arrays.Ints,
          horizon: int) -> None:
    for task in range(periods.size):
        spread = np.random.randint(0, 2) * (periods[task] // 2)
        arrival = np.random.randint(0, periods[task])
        count = 0
        while arrival < horizon and count < world.arrivals.shape[1]:
            world.arrivals[task, count] = arrival
            world.execution[task, count] = wcets[task]
            if np.random.randint(0, 2):
                world.execution[task, count] = np.random.randint(
                    1, wcets[task] + 1)
            arrival += periods[task] + np.random.randint(0, spread + 1)
            count += 1
        world.jobs[task] = count


@jit
def _count(world: arrays.World, state: arrays.State, tasks: int,
           horizon: int, histogram: arrays.Ints,
           worst: npt.NDArray[np.float64]) -> int:
    misses = 0
    for task in range(tasks):
        for job in range(world.jobs[task]):
            finish = state.finish[task, job]
            due = world.arrivals[task, job] + world.deadline[task]
            if finish == engine.NONE:
                misses += 1 if due < horizon else 0
                continue
            misses += 1 if finish > due else 0
            ratio = (finish - world.arrivals[task, job]
                     ) / world.deadline[task]
            worst[0] = max(worst[0], ratio)
            histogram[min(int(ratio * 1000), 1000)] += 1
    return misses


def explore(cells: Sequence[Cell], starts: int, steps: int,
            seed: int) -> dict[Cell, adversary.Result]:
    """Search for responses above their bounds, one task set for each cell.

    Each set has the least reservation that the analysis finds for it.

    :param cells: where one occurs again, another set is drawn
    :param starts: random worlds for each set
    :param steps: of hill climbing from each world
    """
    source = random.Random(seed)
    results = dict.fromkeys(cells, adversary.Result())
    for cell in cells:
        generator, local, vcpus = cell
        tasks, synthesised = _sized(generator, local, vcpus, source)
        order = tasks_.deadline_monotonic(tasks) if local == 'fp' else None
        results[cell] += adversary.search(
            tasks, synthesised.resource, order, synthesised.verdict, starts,
            steps, source.randrange(1 << 30))
    return results


def _sized(generator: str, local: str, vcpus: int, source: random.Random
           ) -> tuple[list[tasks_.Task], synthesis.Synthesis]:
    """Draw sets until one has a reservation of so many vCPUs."""
    while True:
        count = source.randint(vcpus, vcpus + 5)
        total = source.choice([0.3, 1.0]) * source.uniform(0.05, 0.5) * vcpus
        tasks = generate.GENERATORS[generator](count, total, source)
        shortest = min(task.deadline_us for task in tasks)
        period = max(100, min(1_000_000, int(
            shortest * source.choice([0.1, 0.2, 0.4, 0.5, 0.6, 0.8]))))
        synthesised = synthesis.least_runtime(tasks, period, vcpus, local)
        if synthesised is not None:
            return tasks, synthesised
