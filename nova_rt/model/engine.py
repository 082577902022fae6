# SPDX-License-Identifier: Apache-2.0
"""The event loop of the two-level scheduler, on arrays, exact in time.

Per pCPU, servers are scheduled by EDF and enforced as hard CBS, with the
kernel's rules: a server that wakes keeps its budget and deadline unless that
would exceed its bandwidth; one whose budget is exhausted is throttled until
its deadline. Inside a group, tasks have a run queue for each server, and
push and pull keep the highest priorities on the servers that have budget.

Times are integers in µs. ``NONE`` stands for no task, no server, no time.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nova_rt.model.jit import jit

Ints = npt.NDArray[np.int64]

NONE = -1
NEVER = 1 << 62
# In the trace, in the place of a task.
THROTTLED = -2
FIXED_PRIORITY = 0
EDF = 1


class World(NamedTuple):
    """What does not change: by server, by group, by task, by task and job."""

    cpu: Ints
    group: Ints
    runtime: Ints
    period: Ints
    local: Ints  # by group: FIXED_PRIORITY or EDF
    task_group: Ints
    rank: Ints  # lower is more urgent
    deadline: Ints  # relative
    arrivals: Ints  # ascending
    execution: Ints
    jobs: Ints  # by task, how many of the columns count


class State(NamedTuple):
    """What changes: by server, by task, by pCPU, and the answers."""

    budget: Ints
    until: Ints  # absolute deadline
    throttled: Ints
    top: Ints  # task that the server would run
    queue: Ints  # by task: the server whose run queue holds it, or held it
    active: Ints
    left: Ints  # execution left of the current job
    current: Ints  # index of the current job
    arrived: Ints  # jobs that have arrived
    running: Ints  # by pCPU: server
    finish: Ints  # by task and job, NONE while unfinished
    trace: Ints  # rows of start, end, pCPU, server, task
    traced: Ints  # how many rows


@jit
def key(world: World, state: State, task: int) -> int:
    """Return the urgency of a task's current job; lower is more urgent."""
    if world.local[world.task_group[task]] == EDF:
        release = world.arrivals[task, state.current[task]]
        return int(release + world.deadline[task])
    return int(world.rank[task])


@jit
def find_tops(world: World, state: State, group: int) -> None:
    """Note the most urgent task on each run queue of a group."""
    for server in range(world.group.size):
        if world.group[server] == group:
            state.top[server] = NONE
    for task in range(world.rank.size):
        if world.task_group[task] == group and state.active[task]:
            server = state.queue[task]
            top = state.top[server]
            if top == NONE or key(world, state, task) < key(
                    world, state, top):
                state.top[server] = task


@jit
def most_urgent_waiting(world: World, state: State, group: int) -> int:
    """Return the most urgent task that no server with budget would run."""
    best = NONE
    for task in range(world.rank.size):
        if world.task_group[task] != group or not state.active[task]:
            continue
        server = state.queue[task]
        if state.top[server] == task and not state.throttled[server]:
            continue
        if best == NONE or key(world, state, task) < key(world, state, best):
            best = task
    return best


@jit
def least_urgent_server(world: World, state: State, group: int,
                        home: int) -> int:
    """Return the server with budget that runs the least, home if it ties."""
    best, worst = NONE, NONE
    for server in range(world.group.size):
        if world.group[server] != group or state.throttled[server]:
            continue
        top = state.top[server]
        urgency = NEVER if top == NONE else key(world, state, top)
        if urgency > worst or (urgency == worst and server == home):
            best, worst = server, urgency
    return best


@jit
def settle(world: World, state: State, group: int, now: int) -> None:
    """Push and pull until the most urgent tasks are where budget is."""
    empty = state.top == NONE
    find_tops(world, state, group)
    while True:
        task = most_urgent_waiting(world, state, group)
        if task == NONE:
            break
        server = least_urgent_server(world, state, group, state.queue[task])
        if server == NONE:
            break
        top = state.top[server]
        if top != NONE and key(world, state, top) <= key(world, state, task):
            break
        state.queue[task] = server
        find_tops(world, state, group)
    for server in range(world.group.size):
        if (world.group[server] == group and empty[server]
                and state.top[server] != NONE
                and not state.throttled[server]):
            wake(world, state, server, now)


@jit
def wake(world: World, state: State, server: int, now: int) -> None:
    """Apply the wake-up rule of CBS to a server that gets its first task."""
    left = state.until[server] - now
    if left <= 0 or (state.budget[server] * world.period[server]
                     > left * world.runtime[server]):
        state.budget[server] = world.runtime[server]
        state.until[server] = now + world.period[server]


@jit
def choose(world: World, state: State) -> None:
    """Give each pCPU to its server of the earliest deadline.

    The lower index at a tie.
    """
    state.running[:] = NONE
    for server in range(world.cpu.size):
        if state.top[server] == NONE or state.throttled[server]:
            continue
        rival = state.running[world.cpu[server]]
        if rival == NONE or state.until[server] < state.until[rival]:
            state.running[world.cpu[server]] = server


@jit
def next_event(world: World, state: State, now: int) -> int:
    """Return the time of the next arrival, end, exhaustion or refill."""
    soonest = NEVER
    for task in range(world.rank.size):
        if state.arrived[task] < world.jobs[task]:
            soonest = min(soonest,
                          world.arrivals[task, state.arrived[task]])
    for server in range(world.cpu.size):
        if state.throttled[server]:
            soonest = min(soonest, state.until[server])
    for cpu in range(state.running.size):
        server = state.running[cpu]
        if server != NONE:
            soonest = min(soonest, now + min(
                state.budget[server], state.left[state.top[server]]))
    return soonest


@jit
def note(state: State, start: int, end: int, cpu: int, server: int,
         task: int) -> None:
    """Add a row to the trace if there is room and it took time."""
    row = state.traced[0]
    if row < state.trace.shape[0] and end > start:
        state.trace[row, 0] = start
        state.trace[row, 1] = end
        state.trace[row, 2] = cpu
        state.trace[row, 3] = server
        state.trace[row, 4] = task
        state.traced[0] += 1


@jit
def advance(state: State, now: int, then: int) -> None:
    """Let what runs run until then, and trace it if there is room."""
    for cpu in range(state.running.size):
        server = state.running[cpu]
        if server == NONE:
            continue
        task = state.top[server]
        state.budget[server] -= then - now
        state.left[task] -= then - now
        note(state, now, then, cpu, server, task)


@jit
def handle_tasks(world: World, state: State, now: int, dirty: Ints) -> int:
    """Let jobs end and arrive; return how many did."""
    events = 0
    for task in range(world.rank.size):
        if state.active[task] and state.left[task] == 0:
            events += 1
            state.finish[task, state.current[task]] = now
            state.current[task] += 1
            state.active[task] = 0
            dirty[world.task_group[task]] = 1
        while (state.arrived[task] < world.jobs[task] and
               world.arrivals[task, state.arrived[task]] <= now):
            events += 1
            state.arrived[task] += 1
            dirty[world.task_group[task]] = 1
        if (not state.active[task]
                and state.current[task] < state.arrived[task]):
            state.active[task] = 1
            state.left[task] = world.execution[task, state.current[task]]
    return events


@jit
def handle_servers(world: World, state: State, now: int, dirty: Ints) -> int:
    """Throttle what is exhausted, refill what is due; return how many."""
    events = 0
    for server in range(world.cpu.size):
        if not state.throttled[server] and state.budget[server] == 0:
            events += 1
            state.throttled[server] = 1
            note(state, now, state.until[server], world.cpu[server], server,
                 THROTTLED)
            dirty[world.group[server]] = 1
        if state.throttled[server] and state.until[server] <= now:
            events += 1
            state.throttled[server] = 0
            state.budget[server] = world.runtime[server]
            state.until[server] += world.period[server]
            dirty[world.group[server]] = 1
    return events


@jit
def finished(world: World, state: State, tasks: int) -> bool:
    """Tell whether the first tasks have ended all their jobs."""
    left = 0
    for task in range(tasks):
        left += world.jobs[task] - state.current[task]
    return left == 0


@jit
def run(world: World, state: State, horizon: int, until_task: int) -> int:
    """Run until the horizon and return the number of scheduling events.

    :param until_task: stop before it once the first tasks, this many, have
        ended all their jobs; 0 to run on
    """
    now = 0
    events = 0
    dirty = np.zeros(world.local.size, dtype=np.int64)
    while True:
        dirty[:] = 0
        events += handle_tasks(world, state, now, dirty)
        events += handle_servers(world, state, now, dirty)
        for group in range(dirty.size):
            if dirty[group]:
                settle(world, state, group, now)
        if until_task and finished(world, state, until_task):
            return events
        choose(world, state)
        then = next_event(world, state, now)
        if then > horizon:
            advance(state, now, horizon)
            return events
        advance(state, now, then)
        now = then
