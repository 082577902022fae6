# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
import math

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pytest

from nova_rt.model import checks
from nova_rt.model import edf
from nova_rt.model import edf_demand
from nova_rt.model import fixed_priority
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_
from nova_rt.tests.unit.model import examples

PAPER = supply.Resource(30000, 10000, 4)


def test_gamma_of_the_paper_is_schedulable_under_fixed_priorities():
    gamma = examples.gamma()
    assert float(tasks_.utilisation(gamma)) == pytest.approx(1.80, abs=1e-3)
    verdict = fixed_priority.analyse(gamma, PAPER)
    assert verdict.schedulable
    assert PAPER.reservation().runtime_us == 7500


def test_gamma_of_the_paper_fails_under_edf_at_its_first_task():
    verdict = edf.analyse(examples.gamma(), PAPER)
    assert not verdict.schedulable
    # By hand: 30 + 30 + 30 carried in, 4 * 2 for the task; supplied
    # 4 * (2 * 7.5 + 7) in 32.
    assert verdict.failure.task == 0
    assert verdict.failure.instant_us == 32_000
    assert verdict.failure.demand_us == 98_000
    assert verdict.failure.supply_us == 88_000


def dedicated_response(wcet, higher):
    """Return the classic response time on one CPU (Joseph and Pandya)."""
    response = wcet
    while True:
        longer = wcet + sum(-(-response // t.period_us) * t.wcet_us
                            for t in higher)
        if longer == response or longer > 1000:
            return longer
        response = longer


@given(examples.task_sets())
def test_one_full_cpu_gives_the_classic_response_times(tasks):
    order = tasks_.deadline_monotonic(tasks)
    verdict = fixed_priority.analyse(tasks, supply.Resource(100, 100))
    higher = []
    for index in order:
        classic = dedicated_response(tasks[index].wcet_us, higher)
        if classic > tasks[index].deadline_us:
            assert verdict.failure.task == index
            return
        assert verdict.response_us[index] == classic
        higher.append(tasks[index])
    assert verdict.schedulable


@given(examples.task_sets(), st.integers(1, 6), st.integers(1, 6))
def test_one_vcpu_under_fixed_priorities_is_the_exact_test(
        tasks, runtime, period):
    # Shin and Lee: some window up to the deadline supplies all requests.
    if runtime > period:
        return
    resource = supply.Resource(runtime, period)
    order = tasks_.deadline_monotonic(tasks)
    exact = all(
        any(tasks[k].wcet_us + sum(
            -(-window // tasks[h].period_us) * tasks[h].wcet_us
            for h in order[:place]) <= resource.sbf(window)
            for window in range(1, tasks[k].deadline_us + 1))
        for place, k in enumerate(order))
    assert fixed_priority.analyse(tasks, resource).schedulable == exact


@given(examples.task_sets(), st.integers(1, 6), st.integers(1, 6))
def test_one_vcpu_under_edf_is_the_exact_test(tasks, runtime, period):
    if runtime > period:
        return
    resource = supply.Resource(runtime, period)
    utilisation = tasks_.utilisation(tasks)
    if utilisation > resource.bandwidth or (
            utilisation == resource.bandwidth and runtime < period):
        exact = False
    else:
        end = 3 * math.lcm(period, *(t.period_us for t in tasks)) + 50
        exact = all(sum(edf_demand.dbf(t, window) for t in tasks)
                    <= resource.sbf(window) for window in range(end))
    verdict = edf.analyse(tasks, resource)
    assert verdict.schedulable == exact
    if not exact and verdict.failure:
        assert verdict.failure.demand_us > verdict.failure.supply_us


@given(examples.task_sets(), st.integers(1, 6), st.integers(1, 6))
def test_windows_from_the_last_down_decide_as_all_windows_do(
        tasks, runtime, period):
    if runtime > period:
        return
    resource = supply.Resource(runtime, period)
    every = edf.analyse(tasks, resource)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edf, 'MAX_WINDOWS', 0)
        last = edf.analyse(tasks, resource)
    assert last.schedulable == every.schedulable
    if every.failure:
        assert last.failure.instant_us >= every.failure.instant_us
        assert last.failure.demand_us > last.failure.supply_us


@given(examples.task_sets(), st.integers(2, 4), st.integers(1, 12), st.integers(1, 12))
def test_windows_from_the_last_down_decide_as_all_do_on_several_vcpus(
        tasks, vcpus, budget, period):
    resource = supply.Resource(min(budget, vcpus * period), period, vcpus)
    every = edf.analyse(tasks, resource)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edf, 'MAX_WINDOWS', 0)
        last = edf.analyse(tasks, resource)
    assert last.schedulable == every.schedulable
    if every.failure:
        assert last.failure.demand_us >= last.failure.supply_us
    elif last.schedulable:
        assert last.slack_us <= every.slack_us


def test_numbers_beyond_64_bits_give_the_same_response_times():
    # The window is shorter, but the time scaled by m and by supply is not.
    tasks = [tasks_.Task(1 << 20, 1 << 38), tasks_.Task(1 << 21, 1 << 39)]
    long = supply.Resource(1 << 10, 1 << 20, 100)
    verdict = fixed_priority.analyse(tasks, long)
    assert verdict.schedulable
    for index, response in enumerate(verdict.response_us):
        higher = list(zip(tasks, verdict.response_us, strict=True))[:index]
        demand = fixed_priority.demand(tasks[index], higher, 100, response)
        assert long.sbf(response) >= demand > long.sbf(response - 1)


@pytest.mark.parametrize('local', ['fp', 'edf'])
@given(tasks=examples.task_sets(), periods=st.lists(
    st.integers(1, 12), min_size=1, max_size=3, unique=True), overhead=st.integers(0, 1))
def test_the_search_finds_what_trying_everything_finds(local, tasks, periods, overhead):
    cap = Fraction(19, 20)
    tried = [found for period in periods for vcpus in range(1, len(tasks) + 1) if (
        found := synthesis.least_runtime(tasks, period, vcpus, local, cap, overhead))]
    if not tried:
        with pytest.raises(checks.ModelError, match='No reservation'):
            synthesis.synthesise(tasks, periods, local, cap=cap, overhead_us=overhead)
        return
    least = min(tried, key=lambda found: (
        found.resource.bandwidth, found.resource.vcpus, -found.resource.period_us))
    assert synthesis.synthesise(
        tasks, periods, local, cap=cap, overhead_us=overhead) == least


def test_one_vcpu_under_edf_is_decided_however_many_windows_there_are():
    # By hand: 1500 s and 2000 s are demanded within 5000 s, in which the first task
    # has 50,000,000 jobs.
    tasks = [tasks_.Task(30, 100),
             tasks_.Task(2_000_000_000, 10_000_000_000, 5_000_000_000)]
    assert edf.analyse(tasks, supply.Resource(71, 100)).schedulable
    verdict = edf.analyse(tasks, supply.Resource(70, 100))
    assert verdict.failure.instant_us == 5_000_000_000
    assert verdict.failure.demand_us == 3_500_000_000
    assert synthesis.least_runtime(
        tasks, 100, 1, 'edf').resource.budget_us == 71


def demand_by_terms(tasks, k, vcpus, window):
    """Return the demand of Theorem 2 for one window, term by term."""
    own = tasks[k]
    least, extra = 0, []
    for i, task in enumerate(tasks):
        jobs = max(0, (window + task.period_us - task.deadline_us)
                   // task.period_us)
        inside = jobs * task.wcet_us
        carried = inside + min(task.wcet_us,
                               max(0, window - jobs * task.period_us))
        if i == k:
            cap = window - own.deadline_us
            inside -= own.wcet_us
            carried -= own.wcet_us
        else:
            cap = window - own.wcet_us
        least += min(inside, cap)
        extra.append(min(carried, cap) - min(inside, cap))
    return (least + sum(sorted(extra)[::-1][:vcpus - 1])
            + vcpus * own.wcet_us)


@settings(max_examples=60)
@given(examples.task_sets(), st.integers(1, 8), st.integers(0, 6),
       st.integers(2, 3))
def test_break_points_find_what_every_window_finds_under_edf(
        tasks, runtime, rest, vcpus):
    # In steps of an eighth: supply and demand bend at whole numbers only.
    fine = [tasks_.Task(8 * t.wcet_us, 8 * t.period_us, 8 * t.deadline_us)
            for t in tasks]
    resource = supply.Resource(8 * vcpus * runtime, 8 * (runtime + rest),
                               vcpus)
    coarse = supply.Resource(vcpus * runtime, runtime + rest, vcpus)
    fails = tasks_.utilisation(tasks) >= coarse.bandwidth
    if not fails:
        fails = any(
            (needed := demand_by_terms(fine, k, vcpus, window))
            > (supplied := resource.sbf(window))
            or needed == supplied == vcpus * window
            for k in range(len(fine))
            for window in range(fine[k].deadline_us, 800))
    verdict = edf.analyse(tasks, coarse)
    assert verdict.schedulable == (not fails)
    if verdict.failure:
        seen = verdict.failure
        assert seen.demand_us == demand_by_terms(
            tasks, seen.task, vcpus, seen.instant_us) == edf_demand.demand(
            tasks, seen.task, vcpus, seen.instant_us)


@given(examples.task_sets(most=3, longest=9), st.integers(1, 20),
       st.integers(2, 4))
def test_a_budget_that_does_not_divide_is_judged_between_its_neighbours(
        tasks, budget, vcpus):
    if budget > vcpus * 5:
        return
    verdict = edf.analyse(tasks, supply.Resource(budget, 5, vcpus))
    down, up = budget // vcpus * vcpus, -(-budget // vcpus) * vcpus
    if down and edf.analyse(
            tasks, supply.Resource(down, 5, vcpus)).schedulable:
        assert verdict.schedulable
    if verdict.schedulable:
        assert edf.analyse(
            tasks, supply.Resource(up, 5, vcpus)).schedulable


@pytest.mark.parametrize('local', ['fp', 'edf'])
def test_the_least_runtime_is_least(local):
    for vcpus in (2, 3, 4, 5):
        found = synthesis.least_runtime(
            examples.gamma(), 10_000, vcpus, local)
        if found is None:
            assert not synthesis.SCHEDULERS[local](
                examples.gamma(), supply.Resource(
                    vcpus * 10_000, 10_000, vcpus)).schedulable
            continue
        assert found.verdict.schedulable
        less = supply.Resource(
            found.resource.budget_us - vcpus, 10_000, vcpus)
        assert not synthesis.SCHEDULERS[local](
            examples.gamma(), less).schedulable


def test_the_least_share_for_gamma_takes_fewer_cpus_than_the_paper():
    found = synthesis.synthesise(examples.gamma(), [10_000])
    assert found.resource.vcpus == 3
    assert found.resource.bandwidth < PAPER.bandwidth


def test_overhead_is_added_and_makes_the_shortest_period_lose():
    tasks = [tasks_.Task(1000, 40_000)]
    free = synthesis.synthesise(tasks, [1000, 5000])
    assert free.resource.period_us == 1000
    costly = synthesis.synthesise(tasks, [1000, 5000], overhead_us=50)
    assert costly.resource.period_us == 5000


def test_the_cap_is_kept():
    tasks = [tasks_.Task(93, 100), tasks_.Task(93, 100)]
    with pytest.raises(checks.ModelError, match='No reservation'):
        synthesis.synthesise(tasks, [100], cap=Fraction('0.9'))


@pytest.mark.parametrize(('arguments', 'words'), [
    ((0, 10), 'execution time'), ((-1, 10), 'execution time'),
    ((11, 10), 'longer than its deadline'), ((1, 0), 'period'),
    ((5, 10, 4), 'longer than its deadline'), ((5, 10, 11), 'D <= T'),
    ((float('nan'), 10), 'nan'), ((1e308, 10), 'execution time'),
    ((1, float('inf')), 'inf'), ((None, 3), 'None')])
def test_an_impossible_task_gets_a_sentence(arguments, words):
    with pytest.raises(checks.ModelError) as refused:
        tasks_.Task(*arguments)
    assert words in str(refused.value)


@pytest.mark.parametrize('local', ['fp', 'edf'])
def test_more_work_than_vcpus_is_never_schedulable(local):
    tasks = [tasks_.Task(9, 10)] * 5
    test = synthesis.scheduler(local)
    assert not test(tasks, supply.Resource(40, 10, 4)).schedulable
    with pytest.raises(checks.ModelError, match='No reservation'):
        synthesis.synthesise(tasks, [10], local, max_vcpus=4)


def test_no_tasks_wrong_orders_and_unknown_schedulers_are_refused():
    with pytest.raises(checks.ModelError, match='0 tasks'):
        fixed_priority.analyse([], PAPER)
    with pytest.raises(checks.ModelError, match='each task once'):
        fixed_priority.analyse([tasks_.Task(1, 2)], PAPER, [1])
    with pytest.raises(checks.ModelError, match="'lifo'"):
        synthesis.scheduler('lifo')


def test_a_bandwidth_a_hair_above_the_load_is_answered_at_once():
    tasks = [tasks_.Task(1, 1_000_003), tasks_.Task(1, 999_983)]
    verdict = edf.analyse(tasks, supply.Resource(3, 1_000_000, 2))
    assert not verdict.schedulable
    huge = [tasks_.Task(1 << 39, 1 << 40), tasks_.Task(1, 100)]
    assert edf.analyse(huge, supply.Resource(2, 2, 1)).schedulable in (
        True, False)
