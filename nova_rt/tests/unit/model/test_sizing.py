# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pytest

from nova_rt.model import cbs_queue
from nova_rt.model import chain
from nova_rt.model import checks
from nova_rt.model import queueing
from nova_rt.model import region
from nova_rt.model import sizing

LEVELS = st.one_of(st.none(), st.floats(0.05, 0.999))


@settings(max_examples=60)
@given(st.floats(1, 1000), st.floats(0.05, 0.9), LEVELS, st.floats(1.2, 50),
       st.booleans(), st.booleans())
def test_the_least_bandwidth_meets_the_target_and_less_does_not(
        service_rate, load, level, room, network, bound):
    arrival = service_rate * load
    service = queueing.Service(
        arrival, service_rate, 0.001, 2 * arrival if network else None)
    target = sizing.Target(1.0, level)
    best = target.response_time(service, 0.95, bound)
    target = sizing.Target(best * room, level)
    found = sizing.least_bandwidth(service, target, bound=bound)
    assert target.response_time(service, found, bound) <= target.deadline_s
    less = found * (1 - 1e-6)
    if service_rate * less > arrival:
        assert target.response_time(service, less, bound) > target.deadline_s
    if bound and level is not None:
        assert found >= sizing.least_bandwidth(service, target) - 1e-12


@given(st.floats(1, 1000), st.floats(0.05, 0.8), st.floats(0.05, 0.999))
def test_without_a_network_the_bandwidth_is_the_closed_form(
        service_rate, load, level):
    arrival = service_rate * load
    deadline = -np.log1p(-level) / (service_rate * 0.9 - arrival)
    assert sizing.least_bandwidth(
        queueing.Service(arrival, service_rate),
        sizing.Target(float(deadline), level)) == pytest.approx(0.9)


def test_a_sized_service_meets_its_target_in_the_simulated_reservation():
    service = queueing.Service(40, 200, 0.0002)
    target = sizing.Target(0.060, 0.99)
    bandwidth = sizing.least_bandwidth(service, target)
    wanted = sizing.reserve(bandwidth, sizing.period_for(service))
    sample = cbs_queue.simulate(
        service, wanted.runtime_us, wanted.period_us, 300_000)
    reached = float(np.quantile(sample.cbs, 0.99))
    assert 0.9 * target.deadline_s < reached < 1.05 * target.deadline_s


@pytest.mark.parametrize(('rate', 'overhead', 'period'), [
    (20, 0, 10_000), (200, 0, 1000), (1e5, 0, 1000), (0.001, 0, 2_000_000),
    (20, 60, 10_000), (200, 12, 2000)])
def test_the_period_is_small_against_processing_but_not_too_small(
        rate, overhead, period):
    assert sizing.period_for(queueing.Service(
        rate / 10, rate), overhead) == period


def test_overhead_comes_on_top_of_the_runtime():
    assert sizing.reserve(0.5, 2000).runtime_us == 1000
    assert sizing.reserve(0.5, 2000, 10).runtime_us == 1010
    with pytest.raises(checks.ModelError, match='overhead included'):
        sizing.reserve(0.949, 2000, 10)


def grid_share(services, target):
    """Return the least share of two stages over a fine grid."""
    one, other = services
    least = 2.0
    start = one.arrival_rate / one.processing_rate
    for first in np.linspace(start + 1e-4, 0.95, 300):
        low, high = other.arrival_rate / other.processing_rate, 0.95
        if chain.response_time(services, [first, high],
                         target.level) > target.deadline_s:
            continue
        for _ in range(40):
            middle = (low + high) / 2
            if (other.processing_rate * middle > other.arrival_rate and
                    chain.response_time(services, [first, middle], target.level)
                    <= target.deadline_s):
                high = middle
            else:
                low = middle
        least = min(least, first + high)
    return least


@pytest.mark.parametrize('level', [None, 0.9, 0.99])
@pytest.mark.parametrize('rates', [(500, 500), (1000, 200), (130, 2000)])
def test_a_split_is_as_good_as_a_search_over_a_grid(level, rates):
    services = [queueing.Service(50, rate, 0.0005) for rate in rates]
    target = sizing.Target(0.1, level)
    bandwidths = chain.split(services, target)
    assert chain.response_time(
        services, bandwidths, level) <= target.deadline_s * (1 + 1e-9)
    assert sum(bandwidths) <= grid_share(services, target) + 1e-3
    assert sum(bandwidths) >= grid_share(services, target) - 5e-3


def test_a_stage_at_the_cap_stays_there_and_the_others_give_more():
    services = [queueing.Service(80, 100), queueing.Service(80, 1000)]
    bandwidths = chain.split(services, sizing.Target(0.075))
    assert bandwidths[0] == pytest.approx(0.95, abs=1e-3)
    assert chain.response_time(
        services, bandwidths, None) == pytest.approx(0.075)


def test_a_chain_of_one_is_a_service():
    service = queueing.Service(50, 500, 0.001, 400)
    for level in (None, 0.99):
        target = sizing.Target(0.05, level)
        assert chain.split([service], target)[0] == pytest.approx(
            sizing.least_bandwidth(service, target))


def test_a_chain_is_random_queues_in_a_row():
    source = np.random.default_rng(3)
    number = 400_000
    services = [queueing.Service(50, rate) for rate in (150, 300, 500)]
    sent = np.cumsum(source.exponential(1 / 50, number))
    ends = sent
    for service in services:
        ends = cbs_queue.departures(ends, source.exponential(
            1 / (service.processing_rate * 0.5), number))
    assert np.quantile(ends - sent, 0.99) == pytest.approx(
        chain.response_time(services, [0.5] * 3, 0.99), rel=0.04)


def test_the_formula_is_good_where_the_period_is_short():
    for load in (0.3, 0.9):
        for bandwidth in (0.2, 0.8):
            point = region.measure(0.2, load, bandwidth, True, 5000)
            assert point.good, point


def test_the_formula_promises_too_much_where_the_period_is_long():
    point = region.measure(50, 0.3, 0.5, True, 5000)
    assert not point.good
    assert point.mean_error < -0.5


def test_the_largest_good_period_is_below_the_smallest_bad_one():
    def point(period, error):
        return region.Point(period, 0.5, 0.5, True, error, 0.0)
    assert region.largest_good_period(
        [point(1, 0.01), point(2, 0.2), point(5, 0.01)]) == 1
    assert region.largest_good_period([point(1, 0.5)]) is None


@pytest.mark.parametrize(('make', 'words'), [
    (lambda: sizing.Target(0), 'deadline'),
    (lambda: sizing.Target(float('nan')), 'deadline'),
    (lambda: sizing.Target(1, 1.0), 'percentile'),
    (lambda: sizing.Target(1, 99), 'percentile'),
    (lambda: sizing.least_bandwidth(
        queueing.Service(99, 100), sizing.Target(1)), 'several servers'),
    (lambda: sizing.least_bandwidth(
        queueing.Service(1, 100), sizing.Target(1e-3)), 'reaches only'),
    (lambda: sizing.least_bandwidth(
        queueing.Service(1, 100, 1.0), sizing.Target(1.5)), 'reaches only'),
    (lambda: sizing.period_for(
        queueing.Service(1, 100), 1e9), 'longest period'),
    (lambda: sizing.reserve(float('nan'), 1000), 'not a number'),
    (lambda: chain.split([], sizing.Target(1)), '0'),
    (lambda: chain.split([queueing.Service(1, 100)] * 17,
                         sizing.Target(1)), '17'),
    (lambda: chain.split([queueing.Service(99, 100)] * 2,
                         sizing.Target(1)), 'Unstable'),
    (lambda: chain.split([queueing.Service(1, 100)] * 2,
                         sizing.Target(1e-3, 0.9)), 'reaches only'),
    (lambda: cbs_queue.simulate(
        queueing.Service(60, 100), 500, 1000), 'Unstable'),
    (lambda: cbs_queue.simulate(
        queueing.Service(1, 100), 500, 1000, 0), 'requests'),
    (lambda: cbs_queue.simulate(
        queueing.Service(1e-14, 100), 500, 1000, 10), 'decades'),
])
def test_what_cannot_be_gets_a_sentence(make, words):
    with pytest.raises(checks.ModelError) as refused:
        make()
    assert words in str(refused.value)
