# SPDX-License-Identifier: Apache-2.0
"""Worlds in which a group's vCPUs must not stand in each other's way.

Each of the first was found to break a proven bound while a task on top of a
run queue stayed there, and while a wake-up moved a server's deadline. The
last checks the steps of the proof themselves.
"""

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np

from nova_rt.model import edf
from nova_rt.model import fixed_priority
from nova_rt.model import simulator
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.tests.unit.model import slots

MS = 1000


def schedule(tasks, rows):
    """Return arrivals, execution times and job counts from lists of times."""
    width = max(len(row) for row in rows)
    arrivals = np.full((len(rows), width), simulator.engine.NEVER)
    execution = np.empty((len(rows), width), dtype=np.int64)
    for index, (task, row) in enumerate(zip(tasks, rows, strict=True)):
        assert all(np.diff(row) >= task.period_us)
        arrivals[index, :len(row)] = row
        execution[index] = task.wcet_us
    return arrivals, execution, np.array([len(row) for row in rows])


def test_a_task_whose_server_waits_for_its_pcpu_runs_on_one_that_has_it():
    # The first task has the highest priority. It arrives on pCPU 0, whose
    # other reservation goes first, while pCPU 1 serves the third task.
    tasks = [tasks_.Task(125, 338_709), tasks_.Task(402, 270_955),
             tasks_.Task(1776, 388_655), tasks_.Task(322, 364_640)]
    order = tasks_.deadline_monotonic(tasks)
    bounds = fixed_priority.analyse(
        tasks, supply.Resource(2 * 438, 50 * MS, 2)).response_us
    group = simulator.Group([
        simulator.Server(0, 438, 50 * MS, 44_686),
        simulator.Server(1, 438, 50 * MS, 49_800)], tasks, order)
    load = [simulator.Server(0, 50 * MS - 438, 50 * MS, 16_818),
            simulator.Server(1, 50 * MS - 438, 50 * MS)]
    outcome = simulator.simulate(
        [group], 600 * MS, load, schedule(
            tasks, [[330], [54_509], [23_865], [55_052]]))
    for index, bound in enumerate(bounds):
        assert outcome.responses(index).tolist()[0] <= bound


RARE = tasks_.Task(1 * MS, 100_000 * MS, 4000 * MS, 'rare')
FREQUENT = [tasks_.Task(1 * MS, 316 * MS, name=f'frequent {number}')
            for number in range(4)]
HORIZON = 20_000 * MS


def group_beside_two_that_take_turns(order):
    """Return what a group of 40% did on two pCPUs that are seldom free.

    On each pCPU another reservation runs for 80 ms of every 158 ms, half of
    that apart; whenever one begins, a frequent task arrives.
    """
    busy = tasks_.Task(80 * MS, 158 * MS, 100 * MS)
    start = 400 * MS
    others = [simulator.Group([simulator.Server(pcpu, 80 * MS, 100 * MS)],
                              [busy], [0]) for pcpu in (0, 1)]
    group = simulator.Group(
        [simulator.Server(pcpu, 20 * MS, 100 * MS) for pcpu in (0, 1)],
        [*FREQUENT, RARE], order)
    rows = [range(start + 79 * MS * pcpu, HORIZON, 158 * MS)
            for pcpu in (0, 1)]
    # One job of each before they start, so that both servers have been used.
    rows += [[first, *range(start + 79 * MS * turn, HORIZON, 316 * MS)]
             for first, turn in ((0, 1), (0, 2), (10 * MS, 3), (10 * MS, 4))]
    rows.append([start])
    return simulator.simulate(
        [*others, group], HORIZON, arrivals=schedule(
            [busy, busy, *FREQUENT, RARE], rows))


def test_wake_ups_never_take_from_a_waiting_task_under_fixed_priorities():
    tasks = [*FREQUENT, RARE]
    bounds = fixed_priority.analyse(
        tasks, supply.Resource(40 * MS, 100 * MS, 2)).response_us
    outcome = group_beside_two_that_take_turns(
        tasks_.deadline_monotonic(tasks))
    assert not outcome.misses()
    for index, bound in enumerate(bounds):
        responses = outcome.responses(index + 2)
        assert responses.size
        assert responses.max() <= bound


def test_wake_ups_never_take_from_a_waiting_task_under_edf():
    tasks = [*FREQUENT, RARE]
    # With a deadline of 165 ms the same task is still schedulable, so it
    # should not be starved for seconds because it allows more.
    hasty = [*FREQUENT, tasks_.Task(RARE.wcet_us, RARE.period_us, 165 * MS)]
    resource = supply.Resource(40 * MS, 100 * MS, 2)
    assert edf.analyse(tasks, resource).schedulable
    assert edf.analyse(hasty, resource).schedulable
    outcome = group_beside_two_that_take_turns(None)
    assert not outcome.misses()
    assert outcome.responses(len(tasks) + 1).max() < 1000 * MS


@given(st.lists(st.integers(0, 99), min_size=4, max_size=4), st.integers(1, 4))
def test_tasks_that_never_end_get_all_that_their_servers_can_give_them(phases, count):
    """Whatever the phases, if the pCPUs have nothing else to do."""
    endless = tasks_.Task(1000 * HORIZON, 1000 * HORIZON)
    group = simulator.Group(
        [simulator.Server(pcpu, 20 * MS, 100 * MS, phase * MS)
         for pcpu, phase in enumerate(phases)], [endless] * count, range(count))
    outcome = simulator.simulate(
        [group], 3000 * MS, arrivals=schedule([endless] * count, [[0]] * count), trace=True)
    got = sum(min(each.end_us, 3000 * MS) - max(each.start_us, 1000 * MS)
              for each in outcome.segments if each.task >= 0 and each.end_us > 1000 * MS)
    assert got >= 4 * 20 * MS * 20 - 4 * 20 * MS


@st.composite
def crowded_worlds(draw):
    """Return neighbours that fill their pCPUs, and a group of two servers."""
    period = draw(st.integers(2, 9))
    runtime = draw(st.integers(1, period - 1))
    groups = []
    for pcpu in (0, 1):
        rest = 1 - runtime / period
        for _ in range(draw(st.integers(1, 3))):
            longer = draw(st.integers(1, 30))
            most = int(rest * longer + 1e-9)
            if most:
                share = draw(st.integers(1, most))
                rest -= share / longer
                groups.append(slots.Group(
                    [slots.Server(pcpu, share, longer)], [(2 * share, 99)],
                    [short_times(draw, 6)]))
    tasks = [(draw(st.integers(1, 8)), 99) for _ in range(3)]
    groups.append(slots.Group(
        [slots.Server(pcpu, runtime, period) for pcpu in (0, 1)], tasks,
        [short_times(draw, 8) for _ in tasks], draw(st.booleans())))
    return groups


def short_times(draw, most):
    return np.cumsum(draw(st.lists(
        st.integers(0, 12), min_size=1, max_size=most))).tolist()


@settings(max_examples=300)
@given(crowded_worlds())
def test_what_a_server_supplies_or_sleeps_is_never_less_than_its_bound(world):
    group = world[-1]
    credits = {server: [] for server in group.servers}
    begun = []

    def watch(now, owner):
        begun.append(bool(group.left) and group.idle < now)
        for other in (server for each in world for server in each.servers):
            awake = other.slept is None and not other.throttled
            assert not awake or other.budget <= other.until - now
        waiting = len(group.left) - sum(
            server in owner.values() for server in group.servers)
        for server in group.servers:
            assert server.slept is None or not waiting
            credits[server].append(
                server in owner.values() or server.slept is not None)

    slots.simulate(world, 60, watch)
    runtime, period = group.servers[0].runtime, group.servers[0].period
    bound = supply.Resource(runtime, period)
    for credit in credits.values():
        for start in range(60):
            total = 0
            for end in range(start, 60):
                # The group must have had work without a break.
                if end > start and not begun[end]:
                    break
                total += credit[end]
                assert total >= bound.sbf(end + 1 - start)
