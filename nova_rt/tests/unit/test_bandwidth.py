# SPDX-License-Identifier: Apache-2.0

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth

periods = st.integers(bandwidth.MIN_PERIOD_US, bandwidth.MAX_PERIOD_US)
runtimes = st.integers(0, bandwidth.MAX_PERIOD_US)
bandwidths = st.integers(0, bandwidth.BW_UNIT)


@pytest.mark.parametrize(('runtime_us', 'period_us', 'expected'), [
    (100000, 200000, 524288),
    (950000, 1000000, 996147),
    (1, 3, 349525),
    (4194304, 4194304, 1048576),
    (2, 4194304, 0),
    (4, 4194304, 1),
])
def test_bandwidth_is_the_kernels_fixed_point(runtime_us, period_us, expected):
    assert bandwidth.to_bandwidth(runtime_us, period_us) == expected


@given(runtimes, periods)
def test_bandwidth_is_the_exact_quotient_rounded_down(runtime_us, period_us):
    exact = Fraction(runtime_us, period_us) * bandwidth.BW_UNIT
    found = bandwidth.to_bandwidth(runtime_us, period_us)
    assert found <= exact < found + 1


@pytest.mark.parametrize(('fraction', 'as_times'), [
    (0.95, (95, 100)), (1.0, (1, 1)), (0.1, (1, 10)), (0.01, (1, 100)),
    (0.3, (3, 10)), (0.05, (5, 100)), (0, (0, 1)), (1, (1, 1)),
    (1e-05, (1, 100000))])
def test_fraction_is_what_its_decimals_say(fraction, as_times):
    assert (bandwidth.fraction_to_bandwidth(fraction)
            == bandwidth.to_bandwidth(*as_times))


@given(st.integers(0, 1000000))
def test_fraction_in_millionths_equals_runtime_over_a_second(millionths):
    assert (bandwidth.fraction_to_bandwidth(millionths / 1000000)
            == bandwidth.to_bandwidth(millionths, 1000000))


@given(bandwidths, periods)
def test_runtime_covering_is_the_least_that_suffices(wanted, period_us):
    runtime_us = bandwidth.runtime_covering(wanted, period_us)
    assert bandwidth.to_bandwidth(runtime_us, period_us) >= wanted
    if runtime_us:
        assert bandwidth.to_bandwidth(runtime_us - 1, period_us) < wanted


@given(bandwidths, periods)
def test_longest_runtime_is_the_largest_that_is_not_over(most, period_us):
    runtime_us = bandwidth.longest_runtime(most, period_us)
    assert bandwidth.to_bandwidth(runtime_us, period_us) <= most
    assert runtime_us == period_us or bandwidth.to_bandwidth(runtime_us + 1, period_us) > most


def test_no_runtime_is_longer_than_its_period():
    # Rounded down, 1048578 µs every 1048577 µs are a whole CPU, too.
    assert bandwidth.longest_runtime(bandwidth.BW_UNIT, 1_048_577) == 1_048_577


@given(st.lists(st.tuples(runtimes, periods), max_size=20))
def test_a_parent_that_covers_the_sum_covers_every_child(children):
    total = sum(bandwidth.to_bandwidth(*child) for child in children)
    parent = bandwidth.runtime_covering(total, 1000000)
    assert bandwidth.to_bandwidth(parent, 1000000) >= total


@pytest.mark.parametrize(('value', 'shown'), [
    (0, '0%'), (bandwidth.BW_UNIT // 2, '50%'), (bandwidth.BW_UNIT, '100%'),
    (bandwidth.to_bandwidth(1, 3), '33.3%'),
    (bandwidth.to_bandwidth(950000, 1000000), '95%'),
    (-bandwidth.BW_UNIT // 4, '-25%'), (3 * bandwidth.BW_UNIT, '300%')])
def test_percent_has_one_decimal_if_it_needs_one(value, shown):
    assert bandwidth.percent(value) == shown


def test_share_is_shown_in_cpus():
    assert bandwidth.cpus(4 * bandwidth.to_bandwidth(95, 100)) == 3.8
    assert bandwidth.cpus(64 * bandwidth.to_bandwidth(95, 100)) == 60.8
    assert bandwidth.cpus(bandwidth.to_bandwidth(1, 3)) == 0.3333
    assert bandwidth.cpus(1 << 15) == 0.0313
    assert bandwidth.cpus(bandwidth.BW_UNIT) == 1.0
