# SPDX-License-Identifier: Apache-2.0
"""The sizing model: analysis, synthesis and simulation.

No maintained tool has the same analysis or synthesis to compare with. simso
simulates global fixed priorities on whole CPUs, as ours can.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import functools
import time
from typing import Any

from bench import measure
from nova_rt.model import campaign
from nova_rt.model import edf
from nova_rt.model import fixed_priority
from nova_rt.model import generate
from nova_rt.model import simulator
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_
from nova_rt.testing import simso_model

TASKS = 12
PERIOD_US = 10_000
ROUNDS = 5
HORIZON_MS = 2_000
CPUS = 2

Tasks = list[tasks_.Task]


def measurements() -> Iterator[measure.Measurement]:
    """Yield the analysis, the synthesis, and the simulation."""
    sets = [tasks for tasks in generate.evaluation_sets() if len(tasks) == TASKS]
    resources = [synthesis.synthesise(tasks, [PERIOD_US]).resource for tasks in sets]
    for name, analyse in (('fixed priorities', fixed_priority.analyse),
                          ('EDF', edf.analyse)):
        yield _slowest(
            f'analysis of {TASKS} tasks, {name}', 1e3, 'ms', 50,
            [functools.partial(analyse, tasks, resource)
             for tasks, resource in zip(sets, resources, strict=True)])
    yield _slowest(
        f'synthesis for {TASKS} tasks', 1.0, 's', 1,
        [functools.partial(synthesis.synthesise, tasks, [PERIOD_US])
         for tasks in sets])
    yield _events(sets[0], resources[0])
    yield _beside_simso()


def _slowest(name: str, scale: float, unit: str, limit: float,
             actions: Sequence[measure.Action]) -> measure.Measurement:
    """Return the time of an action over many task sets; the slowest counts."""
    seconds = measure.in_turn(
        {str(index): action for index, action in enumerate(actions)}, 1)
    spread = measure.Spread.of(
        [elapsed * scale for (elapsed,) in seconds.values()])
    return measure.Measurement(
        name, unit, spread, notes={'task sets': len(actions)},
        aims=(measure.Aim(f'under {limit} {unit}', spread.max < limit),))


def _events(tasks: Tasks, resource: supply.Resource) -> measure.Measurement:
    """Return the scheduling events that are simulated in a second."""
    campaign.random_cases(tasks, resource, 1, 0)  # Numba compiles.
    rates = []
    for seed in range(ROUNDS):
        began = time.process_time()
        tally = campaign.random_cases(tasks, resource, 2_000, seed)
        rates.append(tally.events / (time.process_time() - began) / 1e6)
    spread = measure.Spread.of(rates)
    return measure.Measurement(
        'simulated scheduling events', 'M/s', spread,
        aims=(measure.Aim('over 1 million/s', spread.median > 1),))


def _beside_simso() -> measure.Measurement:
    """Compare the simulation of a second of tasks on whole CPUs with simso.

    :raises RuntimeError: if they do not simulate the same jobs
    """
    tasks = [tasks_.Task(wcet, period) for wcet, period in (
        (2_000, 5_000), (3_000, 7_000), (4_000, 9_000), (3_000, 11_000),
        (5_000, 23_000))]
    servers = [simulator.Server(pcpu, 1_000, 1_000) for pcpu in range(CPUS)]
    group = simulator.Group(servers, tasks, tasks_.deadline_monotonic(tasks))
    theirs: list[Any] = []
    seconds = measure.in_turn({
        'ours': lambda: simulator.simulate([group], HORIZON_MS * 1_000),
        'simso': lambda: theirs.append(
            simso_model.simulate(tasks, CPUS, HORIZON_MS * 1_000))}, ROUNDS)
    jobs = sum(len(task.jobs) for task in theirs[-1].results.tasks)
    expected = sum(-(-HORIZON_MS * 1_000 // task.period_us) for task in tasks)
    if abs(jobs - expected) > len(tasks):
        raise RuntimeError(f'simso ran {jobs} jobs instead of {expected}.')
    return measure.compared(
        'a second of five tasks on two CPUs, simulated', 'simso',
        seconds['ours'], seconds['simso'], 'ms', 1e6 / HORIZON_MS)
