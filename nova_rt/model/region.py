# SPDX-License-Identifier: Apache-2.0
"""Where the fluid formula is right: a map over period, load and bandwidth.

Three numbers without units decide: the period over the mean processing time
P µ, the load ρ = λ / (µ Q/P), and the bandwidth Q/P.
"""

from collections.abc import Sequence
import dataclasses

import numpy as np

from nova_rt.model import cbs_queue
from nova_rt.model import queueing

PERIOD_US = 100_000
PERIODS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
LOADS = (0.3, 0.5, 0.7, 0.8, 0.9)
BANDWIDTHS = (0.2, 0.5, 0.8)
LIMIT = 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """How far the fluid formula is off at one place of the map.

    Errors are those of the formula, relative to the reservation: it predicts
    too long a time where they are above 0, too short a time below 0.

    :ivar period: P µ
    :ivar load: ρ
    :ivar bandwidth: Q/P
    :ivar shared: the rest of the pCPU is taken
    """

    period: float
    load: float
    bandwidth: float
    shared: bool
    mean_error: float
    percentile_error: float

    @property
    def good(self) -> bool:
        """Both errors are within 10%."""
        return (abs(self.mean_error) <= LIMIT
                and abs(self.percentile_error) <= LIMIT)


def measure(period: float, load: float, bandwidth: float, shared: bool,
            requests: int = 50_000, seed: int = 1,
            level: float = 0.99) -> Point:
    """Return one point by simulating both systems with the same requests.

    With the same requests, little of the noise of either is left in the
    difference.

    :param level: the percentile that is compared beside the mean
    """
    rate = period / (PERIOD_US * 1e-6)
    service = queueing.Service(rate * bandwidth * load, rate)
    # A short period means more events per request, and less noise.
    number = max(4000, int(requests * min(1.0, 5 * period)))
    sample = cbs_queue.simulate(
        service, round(PERIOD_US * bandwidth), PERIOD_US, number, seed,
        shared)
    return Point(
        period, load, bandwidth, shared,
        float(sample.fluid.mean() / sample.cbs.mean() - 1),
        float(np.quantile(sample.fluid, level)
              / np.quantile(sample.cbs, level) - 1))


def largest_good_period(points: Sequence[Point]) -> float | None:
    """Return the largest P µ up to which every point is good, if any."""
    bad = [point.period for point in points if not point.good]
    good = [point.period for point in points
            if not bad or point.period < min(bad)]
    return max(good, default=None)
