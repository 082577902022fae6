# SPDX-License-Identifier: Apache-2.0
"""Errors of simulated response times."""

import math

import numpy as np
import pytest

from nova_rt.model import cbs_queue
from nova_rt.model import interval
from nova_rt.model import queueing

# One request every 10 ms; 2 ms of processing, and a reservation of 665 of 1000 µs.
SERVICE = queueing.Service(100, 500)
RUNTIME, PERIOD = 665, 1000


def test_without_a_difference_from_the_formula_there_is_no_error():
    times = np.random.default_rng(1).exponential(1, 1000)
    assert interval.estimate(
        cbs_queue.Sample(times, times), 5.0, np.mean) == interval.Interval(5.0, 0.0)


def test_a_constant_difference_is_found_exactly():
    times = np.random.default_rng(1).exponential(1, 1000)
    found = interval.estimate(cbs_queue.Sample(times + 2, times), 5.0, np.median)
    assert found.value == pytest.approx(7)
    assert found.half_width == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(('value', 'answer'), [
    (0.9, True), (0.95, True), (1.0, None), (1.04, None), (1.06, False)])
def test_it_decides_only_where_the_whole_interval_does(value, answer):
    assert interval.Interval(value, 0.05).below(1.0) is answer


def test_four_times_the_requests_halve_the_error():
    found = interval.Interval(1.1, 0.2)
    assert found.requests_to_decide(1.0, 1000) == pytest.approx(4000)
    assert found.requests_to_decide(1.1, 1000) == math.inf


@pytest.fixture(scope='module')
def samples():
    """Many requests, and forty times few."""
    return [cbs_queue.simulate(SERVICE, RUNTIME, PERIOD, requests, seed)
            for requests, seed in ((400_000, 1000), *((5000, seed) for seed in range(40)))]


@pytest.mark.parametrize('level', [None, 0.9])
def test_nineteen_of_twenty_intervals_hold_the_truth(level, samples):
    def statistic(times):
        return float(times.mean() if level is None else np.quantile(times, level))
    bandwidth = RUNTIME / PERIOD
    exact = (queueing.mean(SERVICE, bandwidth) if level is None
             else queueing.percentile(SERVICE, bandwidth, level))

    truth, *intervals = (interval.estimate(sample, exact, statistic) for sample in samples)
    assert truth.half_width < min(each.half_width for each in intervals)
    # 38 expected; fewer than 35 would be one chance in twenty.
    assert sum(abs(each.value - truth.value) <= each.half_width
               for each in intervals) >= 35
