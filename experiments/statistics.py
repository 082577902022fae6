# SPDX-License-Identifier: Apache-2.0
"""Errors of a model against measurements, with confidence intervals.

Response times of a queue depend on each other, so resampling takes whole
batches. An ideal queue that was fed the same requests shares most of the
chance in them: its deviation from its own expectation is subtracted from the
measurement (a control variate).
"""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Statistic = Callable[[Values], float]

BATCHES = 20
RESAMPLED = 200
LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Interval:
    """A value and its 95% confidence interval."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the interval's length."""
        return (self.high - self.low) / 2


@dataclasses.dataclass(frozen=True)
class Series:
    """What was measured at one point, and the ideal queue's answer.

    :ivar measured: by request
    :ivar ideal: by request, of the model's own queue, fed the same
    :ivar expected: the statistic that the model predicts, of both
    """

    measured: Values
    ideal: Values
    expected: float


def mean(values: Values) -> float:
    """Return the average."""
    return float(values.mean())


def percentile_99(values: Values) -> float:
    """Return the 99th percentile."""
    return float(np.quantile(values, 0.99))


def rmse(expected: Values, measured: Values) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(((expected - measured) ** 2).mean()))


def mape(expected: Values, measured: Values) -> float:
    """Return the mean absolute error in % of what was measured."""
    return float(100 * np.abs(expected / measured - 1).mean())


def paired(series: Series, statistic: Statistic) -> float:
    """Return the measured statistic minus the ideal queue's deviation."""
    return (series.expected + statistic(series.measured)
            - statistic(series.ideal))


def plain(series: Series, statistic: Statistic) -> float:
    """Return the measured statistic."""
    return statistic(series.measured)


def resample(series: Series, source: np.random.Generator) -> Series:
    """Return as many batches of requests, drawn with replacement."""
    batch = max(1, series.measured.size // BATCHES)
    count = series.measured.size // batch
    chosen = source.integers(count, size=count)
    rows = (chosen[:, np.newaxis] * batch + np.arange(batch)).ravel()
    return Series(series.measured[rows], series.ideal[rows], series.expected)


def interval(every: Sequence[Series], value: Callable[[Series], float],
             error: Callable[[Values, Values], float], seed: int = 1
             ) -> Interval:
    """Return the error over all points, with its confidence interval.

    :param value: of one point, such as its paired mean
    :param error: of the expected and measured values, such as :func:`mape`
    """
    source = np.random.default_rng(seed)
    expected = np.array([series.expected for series in every])

    def of(some: Sequence[Series]) -> float:
        return error(expected, np.array([value(series) for series in some]))

    errors = [of([resample(series, source) for series in every])
              for _ in range(RESAMPLED)]
    low, high = np.quantile(errors, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(of(every), float(low), float(high))


def point_interval(series: Series, value: Callable[[Series], float],
                   seed: int = 1) -> Interval:
    """Return the value at one point, with its confidence interval."""
    return interval([series], value, lambda _, seen: float(seen[0]), seed)


def both(series: Series, statistic: Statistic) -> tuple[float, ...]:
    """Return a statistic and half its interval, plain and paired."""
    estimates = [
        point_interval(series, functools.partial(how, statistic=statistic))
        for how in (plain, paired)]
    return tuple(
        value for estimate in estimates for value in (estimate.value, estimate.half))
