# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pytest

from nova_rt.model import checks
from nova_rt.model import fixed_priority
from nova_rt.model import pipeline
from nova_rt.model import simulator
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.testing import simso_model
from nova_rt.tests.unit.model import examples
from nova_rt.tests.unit.model import slots


def full_cpus(number):
    return [simulator.Server(pcpu, 1000, 1000) for pcpu in range(number)]


def run(servers, tasks, horizon, **options):
    return simulator.simulate(
        [simulator.Group(servers, tasks, range(len(tasks)))], horizon,
        **options)


def test_a_task_is_pushed_to_the_server_that_has_budget_left():
    # hcbs-linux-containers, section 3.1: in virtual machines the second
    # task would be throttled at 50 ms and finish late.
    tasks = [tasks_.Task(40, 100), tasks_.Task(60, 100)]
    outcome = run([simulator.Server(0, 50, 100), simulator.Server(1, 50, 100)],
                  tasks, 100, trace=True)
    assert outcome.segments == (
        simulator.Segment(0, 40, 0, 0, 0), simulator.Segment(0, 50, 1, 1, 1),
        simulator.Segment(50, 60, 0, 0, 1))
    assert outcome.finish[:, 0].tolist() == [40, 60]
    assert not outcome.misses()


def test_one_task_uses_the_budget_of_every_server():
    # Section 4.1: 10% on each of 4 vCPUs, one hog.
    outcome = run([simulator.Server(pcpu, 10, 100) for pcpu in range(4)],
                  [tasks_.Task(1000, 1000)], 1000, trace=True)
    used = [0] * 4
    for segment in outcome.segments:
        used[segment.pcpu] += segment.end_us - segment.start_us
    assert used == [100] * 4


def test_an_exhausted_server_is_throttled_until_its_deadline():
    outcome = run([simulator.Server(0, 3, 10)], [tasks_.Task(7, 30)], 60,
                  trace=True)
    assert [(s.start_us, s.end_us) for s in outcome.segments] == [
        (0, 3), (10, 13), (20, 21), (30, 33), (40, 43), (50, 51)]


def test_a_server_that_wakes_early_gets_no_second_budget():
    # 2 of 4 used at time 0; at 4 the other 2 until 10 are within bandwidth
    # only if nothing is added, so the job of 4 ends after the refill.
    tasks = [tasks_.Task(2, 100), tasks_.Task(4, 100)]
    arrivals = (np.array([[0], [4]]), np.array([[2], [4]]), np.array([1, 1]))
    outcome = run([simulator.Server(0, 4, 10)], tasks, 50, arrivals=arrivals,
                  trace=True)
    assert [(s.start_us, s.end_us) for s in outcome.segments] == [
        (0, 2), (4, 6), (10, 12)]


def test_a_late_wake_up_gets_a_new_deadline():
    arrivals = (np.array([[0, 25]]), np.array([[2, 5]]), np.array([2]))
    outcome = run([simulator.Server(0, 4, 10)], [tasks_.Task(5, 20)], 50,
                  arrivals=arrivals, trace=True)
    assert [(s.start_us, s.end_us) for s in outcome.segments] == [
        (0, 2), (25, 29), (35, 36)]


def test_an_idle_server_pulls_what_waits_elsewhere():
    tasks = [tasks_.Task(2, 50), tasks_.Task(6, 50), tasks_.Task(6, 50)]
    outcome = run(full_cpus(2), tasks, 50, trace=True)
    assert outcome.finish[:, 0].tolist() == [2, 6, 8]
    assert simulator.Segment(2, 8, 0, 0, 2) in outcome.segments


def test_local_edf_runs_the_earliest_deadline():
    tasks = [tasks_.Task(4, 20), tasks_.Task(4, 10)]
    outcome = simulator.simulate(
        [simulator.Group([simulator.Server(0, 10, 10)], tasks, None)], 20)
    assert outcome.finish[:, 0].tolist() == [8, 4]


def test_a_miss_is_seen_whether_the_job_ends_late_or_never():
    outcome = run([simulator.Server(0, 1, 10)],
                  [tasks_.Task(2, 10), tasks_.Task(5, 40)], 200)
    assert (0, 0) in outcome.misses()
    assert (1, 0) in outcome.misses()


def small_arrivals(draw, tasks):
    return [list(np.cumsum(draw(st.lists(
        st.integers(1, 15), max_size=8)), dtype=int)) for _ in tasks]


@st.composite
def small_worlds(draw):
    """Return groups as (servers, tasks, arrivals, local EDF or not).

    The last has a server on each pCPU; before it come neighbours, some of
    which never idle.
    """
    vcpus = draw(st.integers(1, 3))
    servers, groups = [], []
    for pcpu in range(vcpus):
        period = draw(st.integers(1, 8))
        runtime = draw(st.integers(1, period))
        servers.append((pcpu, runtime, period,
                        draw(st.integers(0, period - runtime))))
        if runtime < period and draw(st.booleans()):
            neighbour = (pcpu, period - runtime, period,
                         draw(st.integers(0, period)))
            tasks = [tasks_.Task(slots.ENDLESS, slots.ENDLESS)]
            arrivals = [[0]]
            if draw(st.booleans()):
                tasks = draw(examples.task_sets(most=2, longest=20))
                arrivals = small_arrivals(draw, tasks)
            groups.append(([neighbour], tasks, arrivals, False))
    tasks = draw(examples.task_sets(most=5, longest=20))
    groups.append((servers, tasks, small_arrivals(draw, tasks),
                   draw(st.booleans())))
    return groups


@settings(max_examples=400)
@given(small_worlds())
def test_the_event_loop_agrees_with_a_simulator_of_single_ticks(world):
    horizon = 120
    tasks = [task for _, tasks, _, _ in world for task in tasks]
    rows = [row for _, _, arrivals, _ in world for row in arrivals]
    width = max(1, *(len(row) for row in rows), 1)
    table = np.full((len(tasks), width), simulator.engine.NEVER)
    for index, row in enumerate(rows):
        table[index, :len(row)] = row
    wcets = np.array([[t.wcet_us] * width for t in tasks])
    outcome = simulator.simulate(
        [simulator.Group([simulator.Server(*s) for s in servers], tasks,
                         None if edf else range(len(tasks)))
         for servers, tasks, _, edf in world], horizon,
        arrivals=(table, wcets, np.array([len(row) for row in rows])))
    expected = slots.simulate([
        slots.Group([slots.Server(*s) for s in servers],
                    [(t.wcet_us, t.deadline_us) for t in tasks], arrivals,
                    edf)
        for servers, tasks, arrivals, edf in world], horizon)
    names = [(group, task) for group, (_, tasks, _, _) in enumerate(world)
             for task in range(len(tasks))]
    seen = {(*name, job): int(outcome.finish[index, job])
            for index, name in enumerate(names)
            for job in range(len(rows[index]))
            if outcome.finish[index, job] >= 0}
    assert seen == expected


@settings(max_examples=200)
@given(examples.task_sets(most=5, longest=30), st.integers(1, 3),
       st.integers(1, 8), st.integers(0, 4))
def test_no_response_is_longer_than_its_bound(tasks, vcpus, runtime, rest):
    resource = supply.Resource(vcpus * runtime, runtime + rest, vcpus)
    order = tasks_.deadline_monotonic(tasks)
    verdict = fixed_priority.analyse(tasks, resource)
    servers = [simulator.Server(pcpu, runtime, runtime + rest, rest)
               for pcpu in range(vcpus)]
    load = [simulator.Server(pcpu, rest, runtime + rest, rest)
            for pcpu in range(vcpus)] if rest else []
    outcome = simulator.simulate(
        [simulator.Group(servers, tasks, order)], 500, load)
    for index, bound in enumerate(verdict.response_us):
        if bound is not None:
            assert outcome.responses(index).max() <= bound


def test_full_cpus_schedule_as_an_independent_simulator_does():
    tasks = [tasks_.Task(*times) for times in ((2, 5), (3, 7), (4, 9), (3, 11), (5, 23))]
    theirs = simso_model.simulate(tasks, 2, 400)
    outcome = run(full_cpus(2), tasks, 400)
    for index, task in enumerate(theirs.results.tasks):
        expected = [round(job.response_time * 1e3)
                    for job in task.jobs if job.response_time is not None]
        assert len(expected) > 15
        assert outcome.responses(index)[:len(expected)].tolist() == expected


def test_a_pipeline_in_one_reservation_keeps_its_deadline_and_not_with_less():
    chain = pipeline.Pipeline([290, 290, 58], 2902)
    jobs = 50
    # Each stage is released when the one before it ends.
    def finish(runtime):
        server = simulator.Server(0, runtime, 2902, 2902 - runtime)
        rest = 2902 - runtime
        load = [simulator.Server(0, rest, 2902, rest)]
        whole = tasks_.Task(chain.wcet_us, 2902)
        start = 2902 - runtime
        return simulator.simulate(
            [simulator.Group([server], [whole], [0])], 2902 * jobs, load,
            simulator.periodic([whole], 2902 * jobs, [start]))
    assert not finish(638).misses()
    assert finish(637).misses()


@pytest.mark.parametrize(('make', 'words'), [
    (lambda: simulator.Server(0, 11, 10), 'longer than the period'),
    (lambda: simulator.Server(0, 0, 10), 'runtime'),
    (lambda: simulator.Server(0, 5, 0), 'period'),
    (lambda: run([simulator.Server(0, 6, 10), simulator.Server(0, 6, 10)],
                 [tasks_.Task(1, 2)], 10), 'pCPU 0 would hold 1.2'),
    (lambda: run(full_cpus(1), [], 10), '0 tasks'),
    (lambda: run(full_cpus(1), [tasks_.Task(1, 2)], -5), 'horizon'),
    (lambda: run(full_cpus(1), [tasks_.Task(1, 2)], float('inf')), 'horizon'),
])
def test_an_impossible_scenario_gets_a_sentence(make, words):
    with pytest.raises(checks.ModelError) as refused:
        make()
    assert words in str(refused.value)
