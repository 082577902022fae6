# SPDX-License-Identifier: Apache-2.0
"""The event loop of the two-level scheduler, on arrays, exact in time.

Per pCPU, servers are scheduled by EDF and enforced as hard CBS: one whose
budget is exhausted is throttled until its deadline. Inside a group, tasks are
scheduled globally on the servers that have the pCPU:

* those servers run the most urgent ready tasks of the group;
* while a task of the group waits, every server of the group that is not
  throttled contends for its pCPU, and takes the task if it gets the pCPU;
* otherwise a server without a task sleeps. See :func:`wake` for its budget.

The documentation proves ("Several vCPUs") that the analysis holds under this
rule. With one server it is the kernel's.

Times are integers in µs. ``NONE`` stands for no task, no server, no time.
"""

import numpy as np

from nova_rt.model.arrays import Ints
from nova_rt.model.arrays import State
from nova_rt.model.arrays import World
from nova_rt.model.jit import jit

NONE = -1
NEVER = 1 << 62
# In the trace, in the place of a task.
THROTTLED = -2
FIXED_PRIORITY = 0
EDF = 1


@jit
def key(world: World, state: State, task: int) -> int:
    """Return the urgency of a task's current job; lower is more urgent."""
    if world.local[world.task_group[task]] == EDF:
        release = world.arrivals[task, state.current[task]]
        return int(release + world.deadline[task])
    return int(world.rank[task])


@jit
def wake(world: World, state: State, server: int, now: int) -> None:
    """Let a server that sleeps contend again.

    The wake-up rule of CBS keeps budget and deadline unless they exceed the
    bandwidth; else both are new. But while its group has had work ever since
    the server fell asleep, a new deadline could put off what the group is
    owed, unless it has slept since its period began. So the deadline stays
    if the server slept for less than its budget, which then shrinks to what
    the bandwidth allows, but by no more than it slept.
    """
    budget, left = state.budget[server], state.until[server] - now
    since, period = state.slept[server], world.period[server]
    busy = state.woke[world.group[server]] < since
    begun = since > state.until[server] - period
    state.slept[server] = NONE
    if busy and begun and now - since < budget:
        allowed = left * world.runtime[server] // period
        state.budget[server] = max(budget - (now - since), min(budget, allowed))
    elif left <= 0 or budget * period > left * world.runtime[server]:
        state.budget[server] = world.runtime[server]
        state.until[server] = now + period


@jit
def leave(world: World, state: State, server: int) -> None:
    """Take the pCPU from a server; its task waits."""
    task = state.task[server]
    if task != NONE:
        state.server[task] = NONE
        state.task[server] = NONE
    state.running[world.cpu[server]] = NONE
    state.served[world.group[server]] -= 1
    state.stale[world.group[server]] = 1


@jit
def release(world: World, state: State) -> None:
    """Take pCPUs from servers that are throttled or have nothing to run."""
    for server in state.running:
        if server != NONE:
            group = world.group[server]
            if state.throttled[server] or (
                    state.task[server] == NONE
                    and state.served[group] > state.ready[group]):
                leave(world, state, server)


@jit
def contend(world: World, state: State, now: int) -> None:
    """Let the servers of groups whose tasks wait take pCPUs.

    On each pCPU the earliest deadline wins, at a tie the lower index. Where
    a server loses its pCPU, others of its group may contend again.
    """
    lost = True
    while lost:
        lost = False
        for server, group in enumerate(world.group):
            rival = state.running[world.cpu[server]]
            if (state.throttled[server] or rival == server
                    or state.served[group] >= state.ready[group]):
                continue
            if state.slept[server] != NONE:
                wake(world, state, server, now)
            if rival != NONE:
                if state.until[server] > state.until[rival] or (
                        state.until[server] == state.until[rival]
                        and server > rival):
                    continue
                leave(world, state, rival)
                lost = True
            state.running[world.cpu[server]] = server
            state.served[group] += 1
            state.stale[group] = 1


@jit
def rest(world: World, state: State, now: int) -> None:
    """Let servers sleep that have no task and whose group does not wait."""
    for server, group in enumerate(world.group):
        if (state.slept[server] == NONE and not state.throttled[server]
                and state.running[world.cpu[server]] != server
                and state.served[group] >= state.ready[group]):
            state.slept[server] = now


@jit
def place(world: World, state: State, group: int, chosen: Ints) -> None:
    """Let the servers of a group that have pCPUs run its most urgent tasks.

    A task stays on its server if it may run on.

    :param chosen: room for a mark by task
    """
    state.stale[group] = 0
    if state.served[group] == 0:
        return
    everything = state.served[group] == state.ready[group]
    for task in range(world.rank.size):
        chosen[task] = everything and (
            world.task_group[task] == group and state.active[task])
    for _ in range(0 if everything else state.served[group]):
        best = NONE
        for task in range(world.rank.size):
            if (world.task_group[task] == group and state.active[task]
                    and not chosen[task] and (
                        best == NONE or key(world, state, task)
                        < key(world, state, best))):
                best = task
        chosen[best] = 1
    for server in range(world.cpu.size):
        task = state.task[server]
        if (world.group[server] == group and task != NONE
                and not chosen[task]):
            state.server[task] = NONE
            state.task[server] = NONE
    free = 0
    for task in range(world.rank.size):
        if chosen[task] and state.server[task] == NONE:
            while (world.group[free] != group or state.task[free] != NONE
                   or state.running[world.cpu[free]] != free):
                free += 1
            state.task[free] = task
            state.server[task] = free


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
                state.budget[server], state.left[state.task[server]]))
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
        task = state.task[server]
        state.budget[server] -= then - now
        state.left[task] -= then - now
        note(state, now, then, cpu, server, task)


@jit
def end(world: World, state: State, task: int, now: int) -> None:
    """End a task's current job; its server has none until it gets another."""
    state.finish[task, state.current[task]] = now
    state.current[task] += 1
    state.active[task] = 0
    state.ready[world.task_group[task]] -= 1
    state.stale[world.task_group[task]] = 1
    state.task[state.server[task]] = NONE
    state.server[task] = NONE


@jit
def handle_tasks(world: World, state: State, now: int) -> int:
    """Let jobs end and arrive; return how many did."""
    events = 0
    for task in range(world.rank.size):
        if state.active[task] and state.left[task] == 0:
            events += 1
            end(world, state, task, now)
    for task in range(world.rank.size):
        while (state.arrived[task] < world.jobs[task] and
               world.arrivals[task, state.arrived[task]] <= now):
            events += 1
            state.arrived[task] += 1
        if (not state.active[task]
                and state.current[task] < state.arrived[task]):
            group = world.task_group[task]
            state.active[task] = 1
            state.left[task] = world.execution[task, state.current[task]]
            if state.ready[group] == 0:
                state.woke[group] = now
            state.ready[group] += 1
            state.stale[group] = 1
    return events


@jit
def handle_servers(world: World, state: State, now: int) -> int:
    """Throttle what is exhausted, refill what is due; return how many."""
    events = 0
    for server in range(world.cpu.size):
        if not state.throttled[server] and state.budget[server] == 0:
            events += 1
            state.throttled[server] = 1
            note(state, now, state.until[server], world.cpu[server], server,
                 THROTTLED)
        if state.throttled[server] and state.until[server] <= now:
            events += 1
            state.throttled[server] = 0
            state.budget[server] = world.runtime[server]
            state.until[server] += world.period[server]
    return events


@jit
def finished(world: World, state: State, tasks: int) -> bool:
    """Tell whether the first tasks have ended all their jobs."""
    return bool((world.jobs[:tasks] == state.current[:tasks]).all())


@jit
def run(world: World, state: State, horizon: int, until_task: int) -> int:
    """Run until the horizon and return the number of scheduling events.

    :param until_task: stop before it once the first tasks, this many, have
        ended all their jobs; 0 to run on
    """
    now = 0
    events = 0
    chosen = np.zeros(world.rank.size, dtype=np.int64)
    while True:
        events += handle_tasks(world, state, now)
        events += handle_servers(world, state, now)
        if until_task and finished(world, state, until_task):
            return events
        release(world, state)
        contend(world, state, now)
        rest(world, state, now)
        for group in range(world.local.size):
            if state.stale[group]:
                place(world, state, group, chosen)
        then = next_event(world, state, now)
        if then > horizon:
            advance(state, now, horizon)
            return events
        advance(state, now, then)
        now = then
