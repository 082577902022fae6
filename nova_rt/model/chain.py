# SPDX-License-Identifier: Apache-2.0
"""Chains of services: one target for all, split with the least bandwidth.

In steady state the stages of a chain of M/M/1 queues are independent, and a
request's times in them too (Burke, 1956; Reich, 1957).
"""

from collections.abc import Sequence
import math

from nova_rt import wording
from nova_rt.model import checks
from nova_rt.model import phases
from nova_rt.model import queueing
from nova_rt.model import sizing

MAX_STAGES = 16


def response_time(services: Sequence[queueing.Service],
                  bandwidths: Sequence[float], level: float | None) -> float:
    """Return the mean or a percentile of the end-to-end time in s.

    :param bandwidths: Q/P, by service
    :param level: the percentile, or None for the mean
    """
    constant = sum(2 * service.delay_s for service in services)
    rates = [service.slack(bandwidth) for service, bandwidth in zip(
        services, bandwidths, strict=True)] + _network(services)
    if level is None:
        return constant + sum(1 / rate for rate in rates)
    return constant + phases.percentile(rates, level)


def split(services: Sequence[queueing.Service], target: sizing.Target,
          cap: float = 0.95) -> tuple[float, ...]:
    """Return the bandwidths Q/P of the least sum that meet the target.

    With slacks x_i = µ_i Q_i/P_i - λ_i, the sum grows with Σ x_i / µ_i. The
    mean fixes Σ 1 / x_i, so the least sum has x_i ∝ √µ_i. For a percentile,
    the search starts there.

    :raises checks.ModelError: if no bandwidths up to the cap meet it
    """
    if not 1 <= len(services) <= MAX_STAGES:
        raise checks.ModelError(f'A chain has 1 to {MAX_STAGES} stages, and '
                                f'this one has {len(services)}.')
    most = [_largest_slack(service, cap) for service in services]
    best = response_time(services, [cap] * len(services), target.level)
    if best > target.deadline_s:
        raise checks.ModelError(
            f'Even {cap:g} of a pCPU for each stage reaches only '
            f'{wording.rounded(best * 1e6)} µs, not '
            f'{wording.rounded(target.deadline_s * 1e6)} µs: allow more time '
            'or make processing faster.')
    weights = [math.sqrt(service.processing_rate) for service in services]
    if target.level is not None and len(services) > 1:
        weights = _search_weights(services, target, most, weights)
    return tuple(_bandwidths(
        services, _least_slacks(services, target, most, weights)))


def _largest_slack(service: queueing.Service, cap: float) -> float:
    slack = service.processing_rate * cap - service.arrival_rate
    if slack <= 0:
        raise checks.ModelError(
            'Unstable: the requests to one stage need '
            f'{service.arrival_rate / service.processing_rate:.4g} of a '
            f'pCPU, and a pCPU gives at most {cap:g}.')
    return slack


def _network(services: Sequence[queueing.Service]) -> list[float]:
    return [service.network_slack for service in services
            if service.network_rate is not None]


def _bandwidths(services: Sequence[queueing.Service],
                slacks: Sequence[float]) -> list[float]:
    return [(service.arrival_rate + slack) / service.processing_rate
            for service, slack in zip(services, slacks, strict=True)]


def _least_slacks(
        services: Sequence[queueing.Service], target: sizing.Target,
        most: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the least slacks in these proportions that meet the target.

    None exceeds its limit; those that reach it stay there.
    """
    constant = sum(2 * service.delay_s for service in services)
    fixed = _network(services)

    def slacks(scale: float) -> list[float]:
        return [min(limit, scale * weight)
                for limit, weight in zip(most, weights, strict=True)]

    def meets(scale: float) -> bool:
        rates = slacks(scale) + fixed
        if target.level is None:
            return constant + sum(1 / r for r in rates) <= target.deadline_s
        late = phases.tail(rates, target.deadline_s - constant)
        return late <= 1 - target.level

    low = 0.0
    high = max(limit / weight
               for limit, weight in zip(most, weights, strict=True))
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high) or high - low < 1e-13 * high:
            break
        if meets(middle):
            high = middle
        else:
            low = middle
    return slacks(high)


def _search_weights(
        services: Sequence[queueing.Service], target: sizing.Target,
        most: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the proportions of the least bandwidth, near these."""
    from scipy import optimize

    def weights_at(turns: Sequence[float]) -> list[float]:
        return [weights[0], *(weight * math.exp(max(-20, min(20, turn)))
                              for weight, turn in zip(
                                  weights[1:], turns, strict=True))]

    def cost(turns: Sequence[float]) -> float:
        return sum(_bandwidths(services, _least_slacks(
            services, target, most, weights_at(turns))))

    least = optimize.minimize(
        cost, [0.0] * (len(services) - 1), method='Nelder-Mead',
        options={'xatol': 1e-5, 'fatol': 1e-10, 'maxiter': 2000})
    return weights_at(least.x)
