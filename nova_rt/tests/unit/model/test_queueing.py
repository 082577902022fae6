# SPDX-License-Identifier: Apache-2.0
"""Each equation of the OpenStack paper against something that shares
nothing with it: numerical integrals, random queues, or the simulator."""

from fractions import Fraction
import math

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import mpmath
import numpy as np
import pytest

from nova_rt.model import cbs_queue
from nova_rt.model import checks
from nova_rt.model import phases
from nova_rt.model import queueing
from nova_rt.model import simulator
from nova_rt.model import tasks as tasks_

RATES = st.floats(0.1, 1000)
LEVELS = st.floats(0.01, 0.9999)


def convolved_tail(first, second, time):
    """Return Pr[X + Y > t] of two exponential times by integration."""
    with mpmath.workdps(30):
        a, b, t = mpmath.mpf(first), mpmath.mpf(second), mpmath.mpf(time)
        steps = [t * k / 8 for k in range(9)]
        late = mpmath.quad(
            lambda x: a * mpmath.exp(-a * x) * mpmath.exp(-b * (t - x)),
            steps)
        return float(late + mpmath.exp(-a * t))


@st.composite
def stable(draw, network=True):
    service = draw(RATES)
    bandwidth = draw(st.floats(0.05, 1))
    arrival = service * bandwidth * draw(st.floats(0.05, 0.95))
    transmits = (arrival / draw(st.floats(0.05, 0.95)) if network else None)
    return queueing.Service(
        arrival, service, draw(st.floats(0, 1)), transmits), bandwidth


@pytest.mark.parametrize(('parts', 'fits'), [
    (['1/3', '1/3', '1/3'], True), (['0.1'] * 10, True),
    (['1/3', '1/3', '0.333333333333333334'], False), (['1.01'], False)])
def test_equation_1_is_exact_where_floats_are_not(parts, fits):
    assert queueing.fits_pcpu(map(Fraction, parts)) is fits


@given(st.integers(1, 60), st.integers(1, 10), st.integers(0, 10),
       st.booleans())
def test_equation_2_and_its_bounds_hold_for_a_simulated_request(
        processing, runtime, rest, late):
    period = runtime + rest
    load = [simulator.Server(0, rest, period)] if late and rest else []
    outcome = simulator.simulate(
        [simulator.Group([simulator.Server(0, runtime, period)],
                         [tasks_.Task(processing, 10 ** 6)], [0])],
        10 ** 4, load)
    took = int(outcome.finish[0, 0])
    earliest, latest = queueing.processing_bounds(
        processing, runtime, period)
    assert took == (latest if late and rest else earliest)
    assert latest <= math.ceil(processing / runtime) * period
    fluid = queueing.fluid_time(processing, runtime / period)
    assert abs(took - fluid) <= 2 * period


def test_equation_2_gets_better_as_the_period_gets_shorter():
    errors = [queueing.processing_bounds(10_000, 4 * k, 10 * k)[1]
              / queueing.fluid_time(10_000, 0.4) - 1 for k in (1000, 100, 10)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01


@pytest.mark.parametrize(('arrival', 'service', 'bandwidth'), [
    (50, 100, 0.8), (20, 100, 0.5), (300, 1000, 0.6)])
def test_equations_3_and_4_hold_for_a_random_queue(
        arrival, service, bandwidth):
    source = np.random.default_rng(5)
    number = 1_000_000
    sent = np.cumsum(source.exponential(1 / arrival, number))
    ends = cbs_queue.departures(sent, source.exponential(
        1 / (service * bandwidth), number))
    queue = queueing.Service(arrival, service)
    assert (ends - sent).mean() == pytest.approx(
        queueing.mean(queue, bandwidth), rel=0.03)
    assert np.quantile(ends - sent, 0.99) == pytest.approx(
        queueing.percentile(queue, bandwidth, 0.99), rel=0.05)


@given(stable(network=False), LEVELS)
def test_equation_3_is_equation_4_of_a_slower_cpu(case, level):
    service, bandwidth = case
    slower = queueing.Service(
        service.arrival_rate, service.processing_rate * bandwidth,
        service.delay_s)
    assert queueing.mean(service, bandwidth) == pytest.approx(
        queueing.mean(slower, 1))
    assert queueing.percentile(service, bandwidth, level) == pytest.approx(
        queueing.percentile(slower, 1, level))


@settings(max_examples=30)
@given(stable(network=False), LEVELS)
def test_equation_5_puts_two_delays_before_an_exponential_time(case, level):
    service, bandwidth = case
    rate = mpmath.mpf(service.processing_rate) * bandwidth - mpmath.mpf(
        service.arrival_rate)
    density_mean = mpmath.quad(lambda x: x * rate * mpmath.exp(-rate * x),
                               [0, 1 / rate, 10 / rate, 100 / rate])
    assert queueing.mean(service, bandwidth) == pytest.approx(
        2 * service.delay_s + float(density_mean), rel=1e-6)
    spare = queueing.percentile(
        service, bandwidth, level) - 2 * service.delay_s
    assert 1 - float(mpmath.exp(-rate * spare)) == pytest.approx(
        level, rel=1e-6)


@given(stable(), LEVELS)
def test_equation_6_bounds_the_exact_percentile(case, level):
    service, bandwidth = case
    exact = queueing.percentile(service, bandwidth, level)
    bound = queueing.percentile_bound(service, bandwidth, level)
    assert exact <= bound * (1 + 1e-9)


@given(stable(), LEVELS)
def test_equations_6_and_10_are_where_equation_9_reaches_the_level(
        case, level):
    service, bandwidth = case
    bound = queueing.percentile_bound(service, bandwidth, level)
    assert queueing.probability_bound(
        service, bandwidth, bound) == pytest.approx(level, rel=1e-6)
    alpha = 1 / (queueing.mean(service, bandwidth) - 2 * service.delay_s)
    assert bound == pytest.approx(
        2 * service.delay_s - math.log(1 - math.sqrt(level)) / alpha)


@given(stable(network=False))
def test_equation_7_is_the_border_between_an_answer_and_a_sentence(case):
    service, _ = case
    border = service.arrival_rate / service.processing_rate
    assert service.slack(border * 1.001) > 0
    with pytest.raises(checks.ModelError, match='Unstable'):
        service.slack(border * 0.999)
    with pytest.raises(checks.ModelError, match='Unstable'):
        queueing.Service(service.arrival_rate, service.processing_rate, 0,
                         service.arrival_rate)


def test_equation_8_holds_for_two_random_queues_in_a_row():
    source = np.random.default_rng(9)
    number = 1_000_000
    sent = np.cumsum(source.exponential(1 / 60, number))
    through = cbs_queue.departures(sent, source.exponential(1 / 90, number))
    ends = cbs_queue.departures(
        through, source.exponential(1 / (200 * 0.5), number))
    service = queueing.Service(60, 200, 0, 90)
    assert (ends - sent).mean() == pytest.approx(
        queueing.mean(service, 0.5), rel=0.03)
    for level in (0.5, 0.9, 0.99):
        assert np.quantile(ends - sent, level) == pytest.approx(
            queueing.percentile(service, 0.5, level), rel=0.04)


@given(stable(), st.floats(0.01, 10))
def test_equation_9_bounds_the_exact_probability(case, part):
    service, bandwidth = case
    deadline = part * queueing.mean(service, bandwidth)
    rates = [service.slack(bandwidth), service.network_slack]
    spare = deadline - 2 * service.delay_s
    exact = 1 - phases.tail(rates, spare) if spare > 0 else 0.0
    assert queueing.probability_bound(
        service, bandwidth, deadline) <= exact + 1e-12


@settings(max_examples=40)
@given(st.floats(0.1, 100), st.floats(0.01, 100), st.floats(0.01, 20))
def test_the_exact_distribution_is_the_integral(first, ratio, part):
    second = first * ratio
    time = part * (1 / first + 1 / second) / 3
    assert phases.tail([first, second], time) == pytest.approx(
        convolved_tail(first, second, time), rel=1e-8, abs=1e-200)


def test_equal_and_nearly_equal_rates_give_the_erlang_distribution():
    for ratio in (1, 1 + 1e-15, 1 + 1e-12, 1 + 1e-9):
        assert phases.tail([3, 3 * ratio], 2) == pytest.approx(
            math.exp(-6) * 7, rel=1e-7)


@given(st.lists(st.floats(0.1, 100), min_size=3, max_size=3, unique=True),
       st.floats(0.1, 5))
def test_three_phases_agree_with_partial_fractions(rates, part):
    time = part * sum(1 / rate for rate in rates)
    with mpmath.workdps(60):
        exact = mpmath.mpf(0)
        for i, rate in enumerate(rates):
            weight = mpmath.mpf(1)
            for j, competing in enumerate(rates):
                if j != i:
                    weight *= mpmath.mpf(competing) / (
                        mpmath.mpf(competing) - mpmath.mpf(rate))
            exact += weight * mpmath.exp(-mpmath.mpf(rate) * time)
        exact = float(exact)
    assert phases.tail(rates, time) == pytest.approx(exact, rel=1e-9)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6), LEVELS)
def test_a_percentile_is_where_the_tail_is_what_is_left(rates, level):
    assert phases.tail(rates, phases.percentile(
        rates, level)) == pytest.approx(1 - level, rel=1e-6)


def test_the_transmission_rate_counts_bits():
    assert queueing.transmission_rate(16e6, 2048) == pytest.approx(976.5625)


BAD = [0, -1, float('nan'), float('inf'), 1e308, -1e308, 10 ** 400,
       '5', None, True]


@pytest.mark.parametrize('bad', BAD)
def test_nonsense_gets_a_sentence(bad):
    attempts = [
        lambda: queueing.Service(bad, 100), lambda: queueing.Service(1, bad),
        lambda: queueing.Service(1, 100, 0, bad) if bad is not None
        else queueing.Service(1, bad),
        lambda: queueing.Service(1, 100).slack(bad),
        lambda: queueing.percentile(queueing.Service(1, 100), 0.5, bad),
        lambda: queueing.percentile(queueing.Service(1, 100), bad, 0.5),
        lambda: queueing.fluid_time(bad, 0.5),
        lambda: queueing.transmission_rate(bad, 1)]
    for attempt in attempts:
        with pytest.raises(checks.ModelError) as refused:
            attempt()
        assert str(refused.value).endswith('.')
    if bad != 0:
        with pytest.raises(checks.ModelError):
            queueing.Service(1, 100, bad)
