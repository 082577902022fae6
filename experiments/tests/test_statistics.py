# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from experiments import statistics
from nova_rt.model import cbs_queue


def queue(seed, count=4000, load=0.8, slower=1.0):
    source = np.random.default_rng(seed)
    at = np.cumsum(source.exponential(1.0, count))
    work = source.exponential(load, count)
    ideal = cbs_queue.departures(at, work) - at
    measured = cbs_queue.departures(at, work * slower) - at
    return statistics.Series(measured, ideal, 1 / (1 / load - 1))


def test_rmse_and_mape_are_as_defined():
    expected, measured = np.array([90.0, 220.0]), np.array([100.0, 200.0])
    assert statistics.rmse(expected, measured) == pytest.approx(
        np.sqrt((100 + 400) / 2))
    assert statistics.mape(expected, measured) == pytest.approx(10.0)


def test_a_queue_that_is_the_ideal_one_has_no_error_once_paired():
    series = queue(1)
    paired = statistics.paired(series, statistics.mean)
    assert paired == pytest.approx(series.expected)
    interval = statistics.interval(
        [series], lambda series: statistics.paired(series, statistics.mean),
        statistics.mape)
    assert interval.high == pytest.approx(0, abs=1e-9)


def test_pairing_shortens_the_interval():
    series = queue(2, slower=1.02)
    plain, paired = (statistics.point_interval(
        series, lambda series, how=how: how(series, statistics.mean))
        for how in (statistics.plain, statistics.paired))
    assert paired.half < plain.half / 2


def test_the_interval_of_independent_values_is_students():
    source = np.random.default_rng(3)
    values = source.normal(10, 1, 2000)
    interval = statistics.point_interval(
        statistics.Series(values, values, 10.0),
        lambda series: statistics.plain(series, statistics.mean))
    assert interval.half == pytest.approx(1.96 / np.sqrt(2000), rel=0.35)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    covered = 0
    for seed in range(20):
        series = queue(seed, load=0.5)
        interval = statistics.point_interval(
            series, lambda series: statistics.plain(series, statistics.mean))
        covered += interval.low <= series.expected <= interval.high
    assert covered >= 16


def test_resampling_keeps_requests_together_with_their_ideal():
    series = queue(4, slower=1.5)
    again = statistics.resample(series, np.random.default_rng(1))
    pairs = set(zip(series.measured, series.ideal, strict=True))
    assert set(zip(again.measured, again.ideal, strict=True)) <= pairs
