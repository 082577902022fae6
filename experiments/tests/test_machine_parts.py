# SPDX-License-Identifier: Apache-2.0
"""What is computed about task sets in virtual machines, without one."""

from fractions import Fraction

import numpy as np
import pytest

from experiments import machine_cases
from experiments import machine_trials
from experiments import machines
from experiments import supplied
from nova_rt.model import supply as model
from nova_rt.model import tasks as tasks_
from stack import supply

MS = 1_000_000
TICK_US = 4000


def every_case():
    return [*machines.cases(machines.ALONE, 1, 100_000, TICK_US, servers=1),
            *machines.cases(machines.BESIDE, 1, 80_000, TICK_US, servers=2),
            *machines.cases(machines.TWO_VCPUS, 2, 100_000, TICK_US, servers=2)]


def test_the_analysis_says_yes_to_what_it_chose_and_to_nothing_less():
    for case in every_case():
        assert case.is_safe(case.analysed)
        assert not case.is_safe(case.by_utilisation)
        assert max(case.utilisation(vcpu) for vcpu in case.vcpus) < Fraction(
            case.analysed.runtime_us, case.analysed.period_us)
        assert all(bound <= task.deadline_us for bound, task in zip(
            case.bounds_us, case.tasks, strict=True))


def test_misses_are_certain_with_a_third_of_it_even_if_jobs_are_short():
    for case in every_case():
        assert case.certain_misses(case.third, machines.SECONDS, Fraction(9, 20)) > 0
        assert case.certain_misses(case.by_utilisation, machines.SECONDS, Fraction(1)) == 0


def test_two_guests_fit_on_a_pcpu_beside_the_kernels_own_server():
    pairs = zip(*(machines.cases(machines.BESIDE, 1, period_us, TICK_US, servers=2)
                  for period_us in machines.PERIODS_US), strict=True)
    for pair in pairs:
        assert sum(case.assignment.resource.bandwidth for case in pair) < Fraction(95, 100)


def test_what_lacks_a_second_is_at_least_so_many_jobs():
    case = machine_cases.case(0, [tasks_.Task(100_000, 400_000)], 1, 100_000, 0)
    held = case.third
    # 25 jobs of 100 ms in 10 s.
    lacking_us = 2_500_000 - held.runtime_us * 101
    assert case.certain_misses(held, 10, Fraction(1)) == -(-lacking_us // 100_000)


def test_work_is_as_long_as_the_execution_time_at_worst():
    speed = machine_trials.Speed(wake_us=500, least_us=0.8, longest_us=1.0)
    assert speed.blocks(10_500) == 10_000_000
    assert speed.ratio == Fraction(4, 5)


def test_a_pcpu_that_was_never_slow_is_taken_to_be_half_as_fast():
    idle_us = np.array([500.0, 1000.0])
    speed = machine_trials.speed_of(idle_us, np.array([1.0, 1.2]) / 1000)
    assert (speed.wake_us, speed.least_us) == pytest.approx((1100, 1.0))
    assert speed.longest_us == pytest.approx(2.2)
    slow = machine_trials.speed_of(idle_us, np.array([1.0, 3.0]) / 1000)
    assert slow.longest_us == pytest.approx(3.3)


def supplied_as(pattern, step_ms=5, seconds=3):
    """Samples of a vCPU that runs where the pattern of ms, repeated, says so."""
    runs = np.tile(pattern, seconds * 1000 // len(pattern)).cumsum()
    times = np.arange(0, seconds * 1000, step_ms)
    return supply.Supply(tuple(times * MS), tuple(runs[times] * MS))


def test_a_vcpu_with_its_runtime_anywhere_in_each_period_is_supplied():
    held = model.Resource(40_000, 100_000)
    early_then_late = [1] * 40 + [0] * 60 + [0] * 60 + [1] * 40
    assert supplied.shortfall_us(supplied_as(early_then_late), held, 0) <= 1000


def test_what_nobody_watched_counts_as_missing():
    held = model.Resource(40_000, 100_000)
    always = [1]
    assert supplied.shortfall_us(supplied_as(always, step_ms=200), held, 0) == 0
    assert supplied.shortfall_us(supplied_as(always, step_ms=300), held, 0) == 1_000_000


@pytest.mark.parametrize(('late_us', 'short_us'), [(0, 20_000), (12_000, 8000)])
def test_what_is_missing_in_any_period_is_noticed(late_us, short_us):
    held = model.Resource(40_000, 100_000)
    lost = ([1] * 40 + [0] * 60) * 4 + [0] * 20 + [1] * 20 + [0] * 60
    got = supplied.shortfall_us(supplied_as(lost), held, late_us)
    assert got == pytest.approx(short_us, abs=2000) or got > short_us
