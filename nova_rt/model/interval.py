# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals of what a simulated queue shows.

Response times of a queue depend on each other, so a sample is cut into batches
that hardly do (batch means; Law, Simulation Modeling and Analysis, section
9.5.3). The fluid formula is exact for a slower CPU that serves the same
requests: only the difference from it is estimated (a control variate, section
11.4), which wavers far less.
"""

from collections.abc import Callable
import dataclasses
import math

import numpy as np

from nova_rt.model import cbs_queue

BATCHES = 20
# Student's t with 19 degrees of freedom: 95% of the intervals hold the value.
_T = 2.093


@dataclasses.dataclass(frozen=True, slots=True)
class Interval:
    """A value in s, and how far it may be from the truth."""

    value: float
    half_width: float

    def below(self, limit: float) -> bool | None:
        """Return whether the truth is at most a limit, None if it is not decided."""
        if self.value + self.half_width <= limit:
            return True
        return False if self.value - self.half_width > limit else None

    def requests_to_decide(self, limit: float, requests: int) -> float:
        """Return how many requests would probably decide; infinite if none do.

        :param requests: how many this interval was made from
        """
        distance = abs(self.value - limit)
        if not distance:
            return math.inf
        return requests * (self.half_width / distance) ** 2


def least_sample(level: float) -> int:
    """Return how many requests the interval of a percentile needs at least.

    A batch must have some response times beyond the percentile, five here.
    """
    return math.ceil(round(BATCHES * 5 / (1 - level), 6))


def estimate(sample: cbs_queue.Sample, exact: float,
             statistic: Callable[[cbs_queue.Times], float]) -> Interval:
    """Return the interval of a statistic of the response times in a reservation.

    :param exact: the same statistic of the slower CPU, by the formula
    """
    differences = [statistic(cbs) - statistic(fluid) for cbs, fluid in zip(
        np.array_split(sample.cbs, BATCHES), np.array_split(sample.fluid, BATCHES),
        strict=True)]
    return Interval(
        exact + float(np.mean(differences)),
        _T * float(np.std(differences, ddof=1)) / math.sqrt(BATCHES))
