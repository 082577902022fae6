# SPDX-License-Identifier: Apache-2.0
"""Where the analysis of several vCPUs promises more than a scheduler keeps.

Both schedules are deterministic. They show why a "yes" on more than one vCPU is
said to be not guaranteed.
"""

import numpy as np

from nova_rt.model import engine
from nova_rt.model import simulator
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_

MS = 1000


def arriving(tasks, instants_us):
    """Return arrivals as the simulator takes them, by task."""
    width = max(map(len, instants_us))
    arrivals = np.full((len(tasks), width), engine.NEVER, dtype=np.int64)
    for row, instants in zip(arrivals, instants_us, strict=True):
        row[:len(instants)] = instants
    execution = np.zeros_like(arrivals)
    execution[:] = [[task.wcet_us] for task in tasks]
    return arrivals, execution, np.array(
        [len(instants) for instants in instants_us], dtype=np.int64)


def bounds(tasks, runtime_us, period_us):
    """Return the bounds of the response times on two vCPUs."""
    answer = synthesis.scheduler('fp')(
        tasks, supply.Resource(2 * runtime_us, period_us, 2))
    assert answer.schedulable
    return answer.response_us


def test_a_task_waits_beside_a_less_urgent_one_for_longer_than_its_bound():
    tasks = [tasks_.Task(125, 338_709), tasks_.Task(402, 270_955),
             tasks_.Task(1776, 388_655), tasks_.Task(322, 364_640)]
    outcome = simulator.simulate(
        [simulator.Group(
            [simulator.Server(0, 438, 50_000, 44_686),
             simulator.Server(1, 438, 50_000, 49_800)],
            tasks, tasks_.deadline_monotonic(tasks))],
        600_000,
        load=[simulator.Server(0, 49_562, 50_000, 16_818),
              simulator.Server(1, 49_562, 50_000)],
        arrivals=arriving(tasks, [[330], [54_509], [23_865], [55_052]]))
    responses = [int(outcome.responses(task)[0]) for task in range(4)]
    assert any(response > bound for response, bound in zip(
        responses, bounds(tasks, 438, 50_000), strict=True))


def test_a_task_gets_no_time_while_its_server_uses_a_part_of_its_own():
    horizon, begins = 20_000 * MS, 400 * MS
    neighbour = tasks_.Task(80 * MS, 158 * MS, 100 * MS)
    frequent = [tasks_.Task(1 * MS, 316 * MS, 0, f'H{number}')
                for number in range(4)]
    starved = tasks_.Task(1 * MS, 100_000 * MS, 4000 * MS, 'B')
    inside = [*frequent, starved]
    tasks = [neighbour, neighbour, *inside]

    def every(period_ms, start, first=()):
        return [*first, *range(start, horizon, period_ms * MS)]
    outcome = simulator.simulate(
        [simulator.Group([simulator.Server(0, 80 * MS, 100 * MS)],
                         [neighbour], [0]),
         simulator.Group([simulator.Server(1, 80 * MS, 100 * MS)],
                         [neighbour], [0]),
         simulator.Group([simulator.Server(0, 20 * MS, 100 * MS),
                          simulator.Server(1, 20 * MS, 100 * MS)],
                         inside, range(5))],
        horizon, arrivals=arriving(tasks, [
            every(158, begins), every(158, begins + 79 * MS),
            every(316, begins + 79 * MS, [0]),
            every(316, begins + 158 * MS, [0]),
            every(316, begins + 237 * MS, [10 * MS]),
            every(316, begins + 316 * MS, [10 * MS]), [begins]]))
    bound = bounds(inside, 20 * MS, 100 * MS)[-1]
    assert bound < 200 * MS
    assert outcome.finish[6, 0] == engine.NONE
    assert horizon - begins > 90 * bound
