# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import reservation
from nova_rt.model import checks
from nova_rt.model import supply


def least_slot_supply(budget, period, vcpus, window):
    """Return the least supply in whole slots over every allocation."""
    ways = [way for way in itertools.product(range(vcpus + 1), repeat=period)
            if sum(way) == budget]
    least = None
    for start in range(period):
        total = 0
        for first in range(0, start + window, period):
            low, high = max(start, first), min(start + window, first + period)
            if low < high:
                total += min(sum(way[low - first:high - first])
                             for way in ways)
        least = total if least is None else min(least, total)
    return least


def shin_lee_sbf(budget, period, window):
    """Return the supply bound of one periodic resource, as first published.

    Case by case over k, the number of refills; exact.
    """
    k = max(-(-(window - (period - budget)) // period), 1)
    if (k + 1) * period - 2 * budget <= window <= (k + 1) * period - budget:
        return window - (k + 1) * (period - budget)
    return (k - 1) * budget


@pytest.mark.parametrize(('runtime', 'period', 'vcpus'), [
    (1, 2, 1), (1, 3, 2), (2, 3, 2), (1, 2, 3), (3, 4, 2), (4, 4, 2),
    (2, 5, 2), (1, 4, 3)])
def test_no_allocation_of_whole_slots_supplies_less(runtime, period, vcpus):
    resource = supply.Resource(runtime * vcpus, period, vcpus)
    for window in range(4 * period):
        assert resource.sbf(window) == least_slot_supply(
            runtime * vcpus, period, vcpus, window)


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 500))
def test_one_vcpu_is_the_periodic_resource_of_shin_and_lee(
        budget, rest, window):
    resource = supply.Resource(budget, budget + rest)
    assert resource.sbf(window) == shin_lee_sbf(
        budget, budget + rest, window)


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 6),
       st.integers(0, 300))
def test_supply_that_does_not_divide_is_that_of_m_rational_resources(
        budget, period, vcpus, window):
    if budget > period * vcpus:
        return
    resource = supply.Resource(budget, period, vcpus)
    each = Fraction(budget, vcpus)
    assert resource.sbf(window) == vcpus * shin_lee_sbf(each, period, window)


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 6),
       st.integers(1, 1000))
def test_the_inverse_is_the_first_window_that_supplies_enough(
        budget, period, vcpus, wanted):
    if budget > period * vcpus:
        return
    resource = supply.Resource(budget, period, vcpus)
    window = resource.inverse_sbf(wanted)
    assert resource.sbf(window) >= wanted
    assert resource.sbf(window - 1) < wanted


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 6),
       st.integers(0, 300))
def test_the_linear_bound_never_exceeds_supply_and_touches_it(
        budget, period, vcpus, window):
    if budget > period * vcpus:
        return
    resource = supply.Resource(budget, period, vcpus)
    assert resource.lsbf(window) <= resource.sbf(window)
    if budget % vcpus == 0:
        touch = 2 * (period - budget // vcpus) + 7 * period
        assert resource.lsbf(touch) == resource.sbf(touch)


def test_mapping_rounds_the_runtime_up_and_leaves_other_pcpus_alone():
    resource = supply.Resource(30001, 10000, 4)
    assert resource.reservation() == reservation.Reservation(7501, 10000, 4)
    assert resource.per_cpu_runtimes(6, (0, 2, 3, 5)) == (
        7501, 0, 7501, 7501, 0, 7501)
    assert supply.from_reservation(
        reservation.Reservation(7500, 10000, 4)) == supply.Resource(
            30000, 10000, 4)


@pytest.mark.parametrize(('arguments', 'words'), [
    ((0, 10, 1), 'Θ'), ((-1, 10, 1), 'Θ'), ((1, 0, 1), 'Π'),
    ((1, 10, 0), 'vCPUs'), ((21, 10, 2), 'more than 2 vCPUs'),
    ((float('nan'), 10, 1), 'nan'), ((1e308, 10, 1), 'Θ'),
    ((10 ** 400, 10, 1), 'Θ'), ((1, 10 ** 18, 1), 'Π'),
    (('5', 10, 1), "'5'"), ((True, 10, 1), 'True'), ((1.5, 10, 1), '1.5')])
def test_nonsense_gets_a_sentence(arguments, words):
    with pytest.raises(checks.ModelError) as refused:
        supply.Resource(*arguments)
    assert words in str(refused.value)
    assert str(refused.value).endswith('.')


@pytest.mark.parametrize('period', [50, 10 ** 7])
def test_a_period_that_the_kernel_refuses_is_not_mapped(period):
    with pytest.raises(checks.ModelError):
        supply.Resource(20, period).reservation()


def test_a_tiny_budget_is_mapped_to_the_least_runtime_of_the_kernel():
    assert supply.Resource(1, 1000).reservation().runtime_us == 2
