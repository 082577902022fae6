# SPDX-License-Identifier: Apache-2.0
"""Simulate reservations and the tasks inside, exactly.

A host has pCPUs; a group is a reservation on some of them with its tasks;
load is a reservation of one vCPU that never idles. See
:mod:`nova_rt.model.engine` for the rules, which only our kernel has for groups
of several vCPUs.
"""

from collections.abc import Sequence
import dataclasses
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from nova_rt.model import arrays
from nova_rt.model import checks
from nova_rt.model import engine
from nova_rt.model import tasks as tasks_

ROWS = 200_000


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A runtime every period on one pCPU, in µs.

    :ivar throttled_until_us: if not 0, the budget is exhausted at time 0 and
        comes back then
    """

    pcpu: int
    runtime_us: int
    period_us: int
    throttled_until_us: int = 0

    def __post_init__(self) -> None:
        checks.time_us('The period', self.period_us)
        checks.time_us('The runtime', self.runtime_us)
        checks.time_us('The first refill', self.throttled_until_us, least=0)
        if self.runtime_us > self.period_us:
            raise checks.ModelError(
                f'The runtime of {self.runtime_us} µs is longer than the '
                f'period of {self.period_us} µs.')


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """A reservation with its tasks.

    :ivar servers: one for each vCPU
    :ivar tasks: what runs inside
    :ivar order: indices of the tasks, highest priority first; None for EDF
    """

    servers: Sequence[Server]
    tasks: Sequence[tasks_.Task]
    order: Sequence[int] | None


class Segment(NamedTuple):
    """A stretch of a schedule: this task ran here, served by that server."""

    start_us: int
    end_us: int
    pcpu: int
    server: int
    task: int


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a simulation saw.

    :ivar events: arrivals, ends, throttlings and refills
    :ivar arrivals: by task and job, in µs
    :ivar finish: by task and job, in µs; -1 if unfinished
    :ivar deadlines: by task, relative, in µs
    :ivar jobs: by task, how many of the columns count
    :ivar segments: the schedule, if it was asked for
    :ivar throttled: when which servers were throttled, likewise
    :ivar horizon_us: where the simulation ended
    """

    events: int
    arrivals: arrays.Ints
    finish: arrays.Ints
    deadlines: arrays.Ints
    jobs: arrays.Ints
    segments: tuple[Segment, ...]
    throttled: tuple[Segment, ...]
    horizon_us: int

    def responses(self, task: int) -> arrays.Ints:
        """Return the response times of a task's finished jobs in µs."""
        count = int(self.jobs[task])
        finish = self.finish[task, :count]
        done: arrays.Ints = (
            finish - self.arrivals[task, :count])[finish != engine.NONE]
        return done

    def misses(self) -> list[tuple[int, int]]:
        """Return (task, job) of each job that was late, or still is."""
        found = []
        for task, count in enumerate(self.jobs):
            due = self.arrivals[task, :count] + self.deadlines[task]
            finish = self.finish[task, :count]
            late = np.where(finish == engine.NONE, due < self.horizon_us,
                            finish > due)
            found += [(task, int(job)) for job in np.flatnonzero(late)]
        return found


def periodic(tasks: Sequence[tasks_.Task], horizon_us: int,
             offsets: Sequence[int] | None = None
             ) -> tuple[arrays.Ints, arrays.Ints, arrays.Ints]:
    """Return arrivals, execution times and job counts of periodic tasks.

    :param offsets: of the first arrivals in µs; all at 0 unless given
    """
    starts = offsets or [0] * len(tasks)
    rows = [np.arange(start, horizon_us, task.period_us, dtype=np.int64)
            for start, task in zip(starts, tasks, strict=True)]
    width = max(1, *(row.size for row in rows), 1)
    arrivals = np.full((len(tasks), width), engine.NEVER, dtype=np.int64)
    for index, row in enumerate(rows):
        arrivals[index, :row.size] = row
    wcet = np.array([task.wcet_us for task in tasks], dtype=np.int64)
    execution = np.broadcast_to(wcet[:, np.newaxis], arrivals.shape).copy()
    return arrivals, execution, np.array(
        [row.size for row in rows], dtype=np.int64)


def build(groups: Sequence[Group], load: Sequence[Server],
          arrivals: arrays.Ints, execution: arrays.Ints, jobs: arrays.Ints
          ) -> arrays.World:
    """Return the arrays of the event loop.

    Load comes first among the servers, so that it wins every tie: the worst
    case for the groups. Each has a group and a job without end.

    :param arrivals: by task (all groups' tasks in order) and job
    """
    servers = [*load, *(s for group in groups for s in group.servers)]
    owner = [*range(len(load)), *(
        len(load) + i for i, group in enumerate(groups)
        for _ in group.servers)]
    tasks = [task for group in groups for task in group.tasks]
    ranks = [rank for group in groups for rank in _ranks(group)]
    width = arrivals.shape[1]
    endless = np.zeros((len(load), width), dtype=np.int64)
    return arrays.World(
        cpu=_ints(s.pcpu for s in servers), group=_ints(owner),
        runtime=_ints(s.runtime_us for s in servers),
        period=_ints(s.period_us for s in servers),
        local=_ints([engine.FIXED_PRIORITY] * len(load) + [
            engine.EDF if group.order is None else engine.FIXED_PRIORITY
            for group in groups]),
        task_group=_ints([
            *(len(load) + i for i, group in enumerate(groups)
              for _ in group.tasks), *range(len(load))]),
        rank=_ints([*ranks, *([0] * len(load))]),
        deadline=_ints([*(task.deadline_us for task in tasks),
                        *([engine.NEVER >> 1] * len(load))]),
        arrivals=np.vstack([arrivals, endless]),
        execution=np.vstack([execution, endless + (engine.NEVER >> 1)]),
        jobs=np.concatenate([jobs, np.ones(len(load), dtype=np.int64)]))


def start(world: arrays.World, servers: Sequence[Server],
          rows: int) -> arrays.State:
    """Return the state at time 0, with room to trace this many rows."""
    number, groups = len(servers), world.local.size
    tasks = world.rank.size
    throttled = _ints(int(s.throttled_until_us > 0) for s in servers)
    return arrays.State(
        budget=np.where(throttled, 0, world.runtime),
        until=_ints(s.throttled_until_us for s in servers),
        throttled=throttled, slept=np.where(throttled, engine.NONE, 0),
        task=_none(number), ready=_zeros(groups), served=_zeros(groups),
        woke=_none(groups), stale=_zeros(groups), active=_zeros(tasks),
        server=_none(tasks), left=_zeros(tasks), current=_zeros(tasks),
        arrived=_zeros(tasks), running=_none(int(world.cpu.max()) + 1),
        finish=np.full(world.arrivals.shape, engine.NONE, dtype=np.int64),
        trace=np.zeros((rows, 5), dtype=np.int64), traced=_zeros(1))


def simulate(groups: Sequence[Group], horizon_us: int,
             load: Sequence[Server] = (),
             arrivals: tuple[arrays.Ints, arrays.Ints, arrays.Ints]
             | None = None, trace: bool = False) -> Outcome:
    """Run groups beside a load until the horizon.

    :param arrivals: as :func:`periodic` returns them, for all groups' tasks
        in order; strictly periodic from time 0 unless given
    :param trace: keep the schedule, up to 200,000 stretches of it
    :raises checks.ModelError: if a pCPU holds more bandwidth than it has
    """
    checks.time_us('The horizon', horizon_us)
    servers = [*load, *(s for group in groups for s in group.servers)]
    _check_pcpus(servers)
    tasks = [task for group in groups for task in group.tasks]
    tasks_.check(tasks)
    rows, execution, jobs = arrivals or periodic(tasks, horizon_us)
    world = build(groups, load, rows, execution, jobs)
    state = start(world, servers, ROWS if trace else 0)
    events = engine.run(world, state, horizon_us, 0)
    count = len(tasks)
    noted = state.trace[:state.traced[0]]
    return Outcome(
        events, rows, state.finish[:count], world.deadline[:count], jobs,
        _merged(noted[noted[:, 4] != engine.THROTTLED]),
        _merged(noted[noted[:, 4] == engine.THROTTLED]), horizon_us)


def _check_pcpus(servers: Sequence[Server]) -> None:
    for pcpu in {server.pcpu for server in servers}:
        total = sum((Fraction(s.runtime_us, s.period_us) for s in servers
                     if s.pcpu == pcpu), Fraction(0))
        if pcpu < 0 or total > 1:
            raise checks.ModelError(
                f'pCPU {pcpu} would hold {float(total):.4g} of its '
                'bandwidth: at most 1 can be guaranteed.')


def _ranks(group: Group) -> list[int]:
    order = range(len(group.tasks)) if group.order is None else group.order
    if sorted(order) != list(range(len(group.tasks))):
        raise checks.ModelError('The priority order must name each task once.')
    ranks = [0] * len(group.tasks)
    for rank, task in enumerate(order):
        ranks[task] = rank
    return ranks


def _merged(rows: arrays.Ints) -> tuple[Segment, ...]:
    merged: list[Segment] = []
    last: dict[int, int] = {}
    for row in rows:
        segment = Segment(*map(int, row))
        at = last.get(segment.pcpu)
        if (at is not None and merged[at].end_us == segment.start_us
                and merged[at][2:] == segment[2:]):
            merged[at] = merged[at]._replace(end_us=segment.end_us)
        else:
            last[segment.pcpu] = len(merged)
            merged.append(segment)
    return tuple(merged)


def _ints(values: object) -> arrays.Ints:
    return np.array(list(values), dtype=np.int64)  # type: ignore[call-overload]


def _zeros(size: int) -> arrays.Ints:
    return np.zeros(size, dtype=np.int64)


def _none(size: int) -> arrays.Ints:
    return np.full(size, engine.NONE, dtype=np.int64)
