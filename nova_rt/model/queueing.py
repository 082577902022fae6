# SPDX-License-Identifier: Apache-2.0
"""Response times of a service in a reservation: the OpenStack paper, 4.2.

Times in s, rates per s, bandwidths in CPUs. λ and µ are rates here, as the
paper's text has them (its Table 1 calls them times). Requests arrive as a
Poisson process and need exponential processing times; the reservation is
taken for a CPU slower by Q/P, which :mod:`nova_rt.model.cbs_queue` checks.
"""

from collections.abc import Iterable
import dataclasses
from fractions import Fraction
import math

from nova_rt.model import checks
from nova_rt.model import phases


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """A service and the requests that it gets.

    :ivar arrival_rate: λ, requests per s
    :ivar processing_rate: µ, requests per s on a whole pCPU
    :ivar delay_s: δ, one-way network delay in s
    :ivar network_rate: ν = σ / E[z], requests per s that the network can
        transmit; None if transmission takes negligible time
    :raises checks.ModelError: if these are invalid, or the network is
        unstable
    """

    arrival_rate: float
    processing_rate: float
    delay_s: float = 0.0
    network_rate: float | None = None

    def __post_init__(self) -> None:
        checks.positive('The arrival rate λ', self.arrival_rate)
        checks.positive('The processing rate µ', self.processing_rate)
        checks.not_negative('The network delay δ', self.delay_s)
        if self.network_rate is None:
            return
        checks.positive('The transmission rate ν', self.network_rate)
        if self.network_rate <= self.arrival_rate:
            raise checks.ModelError(
                f'Unstable: {self.arrival_rate:g} requests/s arrive, but '
                f'the network transmits {self.network_rate:g} a second; '
                'it needs more bandwidth or smaller requests.')

    @property
    def network_slack(self) -> float:
        """ν - λ per s, infinite without a network to wait for."""
        if self.network_rate is None:
            return math.inf
        return self.network_rate - self.arrival_rate

    def slack(self, bandwidth: float) -> float:
        """Return µ Q/P - λ per s: condition (7) is that it is positive.

        :raises checks.ModelError: if it is not, or the bandwidth is not from
            above 0 to 1
        """
        checks.positive('The bandwidth Q/P', bandwidth)
        if bandwidth > 1:
            raise checks.ModelError(f'The bandwidth Q/P is {bandwidth:g}: '
                                    'one pCPU has at most 1.')
        slack = self.processing_rate * bandwidth - self.arrival_rate
        if slack <= 0:
            raise checks.ModelError(
                f'Unstable: {self.arrival_rate:g} requests/s arrive, but '
                f'{bandwidth:g} of a pCPU processes '
                f'{self.processing_rate * bandwidth:g} a second; Q/P must '
                f'be above {self.arrival_rate / self.processing_rate:g}.')
        return slack


def transmission_rate(bits_per_s: float, mean_bytes: float) -> float:
    """Return ν = σ / E[z] in requests per s.

    :param bits_per_s: σ, network bandwidth in bit/s
    :param mean_bytes: E[z], mean size of a request in bytes
    """
    checks.positive('The network bandwidth σ', bits_per_s)
    checks.positive('The mean request size E[z]', mean_bytes)
    return bits_per_s / (8 * mean_bytes)


def fits_pcpu(bandwidths: Iterable[Fraction]) -> bool:
    """Return whether reservations fit one pCPU together: condition (1).

    This documents the paper; admission compares integers (nova_rt.fitting).
    """
    return sum(bandwidths, Fraction(0)) <= 1


def fluid_time(processing: float, bandwidth: float) -> float:
    """Return the time that a reservation takes for one request: (2).

    This documents the paper, whose later equations build on it.

    :param processing: C, on a whole pCPU; the result is in the same unit
    """
    checks.positive('The processing time C', processing)
    checks.positive('The bandwidth Q/P', bandwidth)
    return processing / bandwidth


def processing_bounds(processing_us: int, runtime_us: int,
                      period_us: int) -> tuple[int, int]:
    """Return the earliest and latest end of one request, in µs.

    This documents the paper, section 4.2.1. The budget is full at the start.
    The latest end is what the proof of (2) needs and never exceeds its
    ⌈C/Q⌉ P. The earliest can be below its ⌊C/Q⌋ P, which holds only if the
    budget is always granted at the end of the period.
    """
    rounds = -(-processing_us // runtime_us) - 1
    earliest = processing_us + rounds * (period_us - runtime_us)
    return earliest, earliest + period_us - runtime_us


def mean(service: Service, bandwidth: float) -> float:
    """Return E[R] in s: equations (3), (5), (6) and (8)."""
    return (2 * service.delay_s + 1 / service.network_slack
            + 1 / service.slack(bandwidth))


def percentile(service: Service, bandwidth: float, level: float) -> float:
    """Return the percentile of R in s, exactly in this model.

    Equations (3) and (5) without a network to wait for; with one, R is
    hypoexponential, for which the paper has only the bound (6).

    :param level: φ, such as 0.99
    """
    checks.probability('The percentile φ', level)
    rates = [service.slack(bandwidth)]
    if service.network_rate is not None:
        rates.append(service.network_slack)
    return 2 * service.delay_s + phases.percentile(rates, level)


def percentile_bound(service: Service, bandwidth: float,
                     level: float) -> float:
    """Return an upper bound of the percentile in s: (6) and (10).

    Without a network to wait for, the exact percentile (5) is returned.
    """
    checks.probability('The percentile φ', level)
    slack = service.slack(bandwidth)
    if service.network_rate is None:
        return 2 * service.delay_s - math.log1p(-level) / slack
    alpha = 1 / (1 / service.network_slack + 1 / slack)
    return 2 * service.delay_s - math.log(1 - math.sqrt(level)) / alpha


def probability_bound(service: Service, bandwidth: float,
                      deadline_s: float) -> float:
    """Return a lower bound of Pr[R <= D]: equation (9).

    This documents the paper; (10), which :func:`percentile_bound` returns,
    is its inverse.
    """
    slack = service.slack(bandwidth)
    spare = deadline_s - 2 * service.delay_s
    if spare <= 0:
        return 0.0
    alpha = 1 / (1 / service.network_slack + 1 / slack)
    return math.expm1(-alpha * spare) ** 2
