# SPDX-License-Identifier: Apache-2.0
"""Look for a response time above its bound, beside neighbours of every kind.

A world is a group with its task set and, on its pCPUs, neighbours that use up
the rest: they never idle, idle always, come and go, or begin late. Starting
from random worlds, hill climbing changes phases, arrivals and execution times
to make the longest response longer, relative to its bound. A ratio above 1 is
a defect of the analysis or of the simulator.
"""

from collections.abc import Sequence
import dataclasses
import random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nova_rt.model import arrays
from nova_rt.model import engine
from nova_rt.model import simulator
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.model import verdict
from nova_rt.model.jit import jit
from nova_rt.model.jit import jit_anew

# No world has more jobs of one task; it ends before.
MAX_JOBS = 400


@dataclasses.dataclass(frozen=True)
class Result:
    """What a search saw.

    :ivar runs: simulations
    :ivar events: scheduling events in all of them
    :ivar above: runs in which a response was longer than its bound
    :ivar worst: largest response time over bound
    """

    runs: int = 0
    events: int = 0
    above: int = 0
    worst: float = 0.0

    def __add__(self, other: 'Result') -> 'Result':
        return Result(self.runs + other.runs, self.events + other.events,
                      self.above + other.above, max(self.worst, other.worst))


class Genes(NamedTuple):
    """What a search may change of a world.

    :ivar start: by server, until when it is throttled at first; 0 if not
    :ivar phase: by task, of the first arrival
    :ivar gap: by task and job, how much later than it might the next arrives
    :ivar execution: by task and job
    """

    start: arrays.Ints
    phase: arrays.Ints
    gap: arrays.Ints
    execution: arrays.Ints


class Limits(NamedTuple):
    """What holds for all worlds of a search; times in µs.

    :ivar neighbours: how many servers, and tasks, are those of neighbours
    :ivar shortest: by task, least time between arrivals
    :ivar spread: by task, most that an arrival is later than it might be
    :ivar longest: by task, longest execution time
    :ivar bound: by task, of its response time
    :ivar horizon: when to end
    """

    neighbours: int
    shortest: arrays.Ints
    spread: arrays.Ints
    longest: arrays.Ints
    bound: arrays.Ints
    horizon: int


def search(tasks: Sequence[tasks_.Task], resource: supply.Resource,
           order: Sequence[int] | None, answer: verdict.Verdict,
           starts: int, steps: int, seed: int) -> Result:
    """Climb from random worlds.

    :param order: indices of the tasks, highest priority first; None for EDF
    :param answer: that the tasks are schedulable
    :param starts: how many random worlds
    :param steps: how many changes of each to try
    """
    source = random.Random(seed)
    neighbours = _neighbours(resource, source)
    servers = [simulator.Server(
        pcpu, resource.runtime_us, resource.period_us)
        for pcpu in range(resource.vcpus)]
    others = [tasks_.Task(1, 1) for _ in neighbours]
    groups = [*(simulator.Group([server], [task], [0])
                for server, task in zip(neighbours, others, strict=True)),
              simulator.Group(servers, tasks, order)]
    limits = _limits(tasks, resource, answer, neighbours, source)
    width = int(min(MAX_JOBS, limits.horizon // limits.shortest[
        len(others):].min() + 2))
    shape = (len(others) + len(tasks), width)
    table = np.zeros(shape, dtype=np.int64)
    world = simulator.build(groups, (), table, table.copy(),
                            np.zeros(shape[0], dtype=np.int64))
    state = simulator.start(world, [*neighbours, *servers], 0)
    results = np.zeros(2, dtype=np.int64)
    worst = np.zeros(1)
    _climb(world, state, limits, _genes(shape, len(neighbours + servers)),
           _genes(shape, len(neighbours + servers)), starts, steps, seed,
           results, worst)
    return Result(starts * (steps + 1), int(results[0]), int(results[1]),
                  float(worst[0]))


def _neighbours(resource: supply.Resource, source: random.Random
                ) -> list[simulator.Server]:
    """Return servers that leave nothing of the pCPUs, or nearly."""
    rest = resource.period_us - resource.runtime_us
    servers = []
    for pcpu in range(resource.vcpus):
        share, period = rest, resource.period_us
        if source.random() < 0.3:
            share = source.randint(0, rest)
            if share:
                servers.append(simulator.Server(pcpu, share, period))
            share = rest - share
        if source.random() < 0.5:
            period = source.randint(-(-period // 3), 3 * period)
            share = share * period // resource.period_us
        if share:
            servers.append(simulator.Server(pcpu, share, period))
    return servers


def _limits(tasks: Sequence[tasks_.Task], resource: supply.Resource,
            answer: verdict.Verdict, neighbours: Sequence[simulator.Server],
            source: random.Random) -> Limits:
    # A world ends soon after the deadlines of one of its tasks.
    longest = source.choice(tasks).deadline_us
    shortest = min(task.period_us for task in tasks)
    horizon = min(3 * longest + 3 * resource.period_us,
                  MAX_JOBS * shortest)
    periods = [task.period_us for task in tasks]
    bounds = [bound or task.deadline_us for task, bound in zip(
        tasks, answer.response_us, strict=True)]
    return Limits(
        len(neighbours),
        np.array([*(max(1, server.runtime_us // 4) for server in neighbours),
                  *periods], dtype=np.int64),
        np.array([*(server.period_us for server in neighbours), *periods],
                 dtype=np.int64),
        np.array([*(2 * server.runtime_us for server in neighbours),
                  *(task.wcet_us for task in tasks)], dtype=np.int64),
        np.array([*(0 for _ in neighbours), *bounds], dtype=np.int64),
        horizon)


def _genes(shape: tuple[int, int], servers: int) -> Genes:
    return Genes(np.zeros(servers, dtype=np.int64),
                 np.zeros(shape[0], dtype=np.int64),
                 np.zeros(shape, dtype=np.int64),
                 np.ones(shape, dtype=np.int64))


@jit_anew
def _climb(world: arrays.World, state: arrays.State, limits: Limits,
           best: Genes, trial: Genes, starts: int, steps: int, seed: int,
           results: arrays.Ints, worst: npt.NDArray[np.float64]) -> None:
    np.random.seed(seed)
    for _ in range(starts):
        _draw(world, limits, best)
        highest = -1.0
        for step in range(steps + 1):
            _copy(best, trial)
            if step:
                _change(world, limits, trial)
            _express(world, state, limits, trial)
            results[0] += engine.run(world, state, limits.horizon, 0)
            ratio = _ratio(world, state, limits)
            if ratio >= highest:
                highest = ratio
                _copy(trial, best)
            results[1] += 1 if ratio > 1 else 0
        worst[0] = max(worst[0], highest)


@jit
def _copy(source: Genes, target: Genes) -> None:
    target.start[:] = source.start
    target.phase[:] = source.phase
    target.gap[:, :] = source.gap
    target.execution[:, :] = source.execution


@jit
def _draw(world: arrays.World, limits: Limits, genes: Genes) -> None:
    """Draw a world at random."""
    for server in range(genes.start.size):
        _draw_start(world, genes, server)
    for task in range(genes.phase.size):
        genes.phase[task] = np.random.randint(0, limits.horizon // 2 + 1)
        if task >= limits.neighbours:
            genes.phase[task] %= limits.shortest[task]
        _draw_jobs(world, limits, genes, task)


@jit
def _draw_start(world: arrays.World, genes: Genes, server: int) -> None:
    rest = world.period[server] - world.runtime[server]
    genes.start[server] = 0
    if np.random.randint(0, 2):
        genes.start[server] = np.random.randint(0, rest + 1)


@jit
def _draw_jobs(world: arrays.World, limits: Limits, genes: Genes,
               task: int) -> None:
    """Draw gaps and execution times of a task, or a neighbour's kind."""
    neighbour = task < limits.neighbours
    kind = np.random.randint(0, 4)
    genes.gap[task, :] = 0
    genes.execution[task, :] = limits.longest[task]
    if kind == 0 and not neighbour:
        return
    if kind == 0 or (kind == 1 and neighbour):
        # It never idles, or not once it has begun.
        genes.execution[task, :] = 2 * limits.horizon
        if kind == 0:
            genes.phase[task] = 0
        return
    for job in range(genes.gap.shape[1]):
        if kind == 2 or np.random.randint(0, 4) == 0:
            genes.gap[task, job] = np.random.randint(
                0, limits.spread[task] + 1)
        if np.random.randint(0, 2):
            genes.execution[task, job] = np.random.randint(
                1, limits.longest[task] + 1)


@jit
def _change(world: arrays.World, limits: Limits, genes: Genes) -> None:
    """Change one to three things."""
    for _ in range(np.random.randint(1, 4)):
        task = np.random.randint(0, genes.phase.size)
        other = np.random.randint(0, genes.phase.size)
        job = np.random.randint(0, genes.gap.shape[1])
        if np.random.randint(0, 2):
            # The first jobs are those that matter most often.
            job = np.random.randint(0, min(4, genes.gap.shape[1]))
        what = np.random.randint(0, 9)
        if what == 0:
            genes.phase[task] = np.random.randint(0, limits.horizon)
        elif what == 1:
            near = world.period[-1] // 8 + 1
            genes.phase[task] = max(0, genes.phase[task] + np.random.randint(
                -near, near + 1))
        elif what == 2:
            genes.phase[task] = max(0, genes.phase[other] + np.random.randint(
                -2, 3))
        elif what <= 4:
            genes.gap[task, job] = np.random.randint(
                0, limits.spread[task] + 1) * (what - 3)
        elif what <= 6:
            genes.execution[task, job] = limits.longest[task] if (
                what == 5) else np.random.randint(1, limits.longest[task] + 1)
        elif what == 7:
            _draw_start(world, genes, np.random.randint(
                0, genes.start.size))
        elif task < limits.neighbours:
            _draw_jobs(world, limits, genes, task)


@jit
def _express(world: arrays.World, state: arrays.State, limits: Limits,
             genes: Genes) -> None:
    """Make the world that the genes describe, at time 0."""
    for task in range(genes.phase.size):
        arrival = genes.phase[task]
        count = 0
        while arrival < limits.horizon and count < genes.gap.shape[1]:
            world.arrivals[task, count] = arrival
            world.execution[task, count] = genes.execution[task, count]
            arrival += limits.shortest[task] + genes.gap[task, count]
            count += 1
        world.jobs[task] = count
    for server in range(genes.start.size):
        late = genes.start[server] > 0
        state.until[server] = genes.start[server]
        state.throttled[server] = 1 if late else 0
        state.slept[server] = engine.NONE if late else 0
        state.budget[server] = 0 if late else world.runtime[server]
    state.task[:] = engine.NONE
    state.server[:] = engine.NONE
    state.running[:] = engine.NONE
    state.woke[:] = engine.NONE
    state.finish[:, :] = engine.NONE
    for zeroed in (state.ready, state.served, state.stale, state.active,
                   state.left, state.current, state.arrived):
        zeroed[:] = 0


@jit
def _ratio(world: arrays.World, state: arrays.State, limits: Limits) -> float:
    """Return the largest response time over its bound."""
    largest = 0.0
    for task in range(limits.neighbours, world.rank.size):
        for job in range(world.jobs[task]):
            end = state.finish[task, job]
            if end == engine.NONE:
                # As long as it has waited, it will not be less.
                end = limits.horizon
            largest = max(largest, (end - world.arrivals[task, job])
                          / limits.bound[task])
    return largest
