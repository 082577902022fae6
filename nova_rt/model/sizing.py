# SPDX-License-Identifier: Apache-2.0
"""From a response-time target to the least bandwidth, and then Q and P."""

import dataclasses
import math

from nova_rt import bandwidth as bandwidth_
from nova_rt import reservation
from nova_rt import wording
from nova_rt.model import checks
from nova_rt.model import periods
from nova_rt.model import queueing

# A period of a fifth of the processing time keeps the fluid formula within
# 3% of the simulated reservation everywhere on the map of
# nova_rt.model.region; up to the whole of it, within 10%.
PERIOD_PART = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """What the response time must not exceed.

    :ivar deadline_s: in s
    :ivar level: φ, such as 0.99; None for the mean
    :raises checks.ModelError: if these are invalid
    """

    deadline_s: float
    level: float | None = None

    def __post_init__(self) -> None:
        checks.positive('The deadline', self.deadline_s)
        if self.level is not None:
            checks.probability('The percentile φ', self.level)

    def response_time(self, service: queueing.Service, bandwidth: float,
                      bound: bool = False) -> float:
        """Return the time that must not exceed the deadline, in s.

        :param bound: the paper's bound (6) instead of the exact percentile
        """
        if self.level is None:
            return queueing.mean(service, bandwidth)
        if bound:
            return queueing.percentile_bound(service, bandwidth, self.level)
        return queueing.percentile(service, bandwidth, self.level)


def least_bandwidth(service: queueing.Service, target: Target,
                    cap: float = 0.95, bound: bool = False) -> float:
    """Return the smallest Q/P with which a service meets its target.

    :param cap: largest Q/P that a pCPU gives
    :param bound: be as cautious as the paper's bound (6)
    :raises checks.ModelError: if no Q/P up to the cap does
    """
    checks.positive('The cap', cap)
    least = service.arrival_rate / service.processing_rate
    if least >= cap:
        raise checks.ModelError(
            f'Unstable: the requests alone need {least:.4g} of a pCPU, and '
            f'a pCPU gives at most {cap:g}: share them among several servers.')
    best = target.response_time(service, min(cap, 1.0), bound)
    if best > target.deadline_s:
        raise checks.ModelError(
            f'Even {cap:g} of a pCPU reaches only '
            f'{wording.rounded(best * 1e6)} µs, not '
            f'{wording.rounded(target.deadline_s * 1e6)} µs: allow more time, '
            'share the requests among several servers, or make processing faster.')
    low, high = least, cap
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        if (service.processing_rate * middle > service.arrival_rate and
                target.response_time(service, middle, bound) <= target.deadline_s):
            high = middle
        else:
            low = middle


def period_for(service: queueing.Service, overhead_us: float = 0.0) -> int:
    """Return a period in µs that is small against the processing time.

    The longest of 1, 2, 5, 10, ... ms that is at most a fifth of it, but at
    least 1 ms, and long enough that overhead stays below 1%.

    :param overhead_us: of each period, what context switches take
    :raises checks.ModelError: if no period is long enough for the overhead
    """
    checks.not_negative('The overhead', overhead_us)
    longest = 1e6 / service.processing_rate / PERIOD_PART
    enough = [period for period in periods.ROUND_US
              if period >= 100 * overhead_us]
    fitting = [period for period in enough if period <= longest]
    if fitting:
        return max(fitting)
    if not enough:
        raise checks.ModelError(
            f'An overhead of {overhead_us:g} µs is more than 1% of the '
            'longest period that the kernel takes.')
    return min(enough)


def reserve(bandwidth: float, period_us: int, overhead_us: float = 0.0,
            cap: float = 0.95) -> reservation.Reservation:
    """Return the reservation on one vCPU that gives a bandwidth to a service.

    :param overhead_us: of each period, what context switches take from Q
    :raises checks.ModelError: if that is more than the cap
    """
    checks.positive('The bandwidth Q/P', bandwidth)
    checks.not_negative('The overhead', overhead_us)
    runtime = max(bandwidth_.MIN_RUNTIME_US,
                  math.ceil(bandwidth * period_us + overhead_us - 1e-9))
    if (bandwidth_.to_bandwidth(runtime, period_us)
            > bandwidth_.fraction_to_bandwidth(cap)):
        raise checks.ModelError(
            f'{runtime} µs every {period_us} µs, overhead included, is more '
            f'than {cap:g} of a pCPU: take a longer period.')
    try:
        return reservation.Reservation(runtime, period_us, 1)
    except reservation.InvalidReservationError as exc:
        raise checks.ModelError(str(exc)) from None
