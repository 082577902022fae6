# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.criticality import Criticality
from nova_rt.virt import domain_xml

NAME, EXTRA_SPEC = elastic.NAME, elastic.EXTRA_SPEC
WANTED = reservation.Reservation(10_000, 100_000, 1)


@pytest.mark.parametrize('value', ['', 'a', '1.5', '-1', '0', '1', 1, True, None, {}, [], [5, 6],
                                   '4194305', '٣٠٠', '1_000'])
def test_what_is_no_runtime_is_refused(value):
    with pytest.raises(reservation.InvalidReservationError, match=f'^{EXTRA_SPEC} '):
        elastic.requested({EXTRA_SPEC: value}, {}, WANTED)


@given(st.one_of(st.text(), st.integers(), st.lists(st.text()), st.binary()))
def test_no_value_makes_it_fail_otherwise(value):
    try:
        told = str(elastic.parse(NAME, value))
    except reservation.InvalidReservationError as exc:
        told = str(exc)
    assert told.isprintable()


@pytest.mark.parametrize(('extra_specs', 'hints', 'least_us'), [
    ({}, {}, None),
    ({EXTRA_SPEC: '5000'}, {}, 5000),
    ({EXTRA_SPEC: '5000'}, {NAME: 4000}, 4000),
    ({EXTRA_SPEC: '5000'}, {NAME: ['6000']}, 6000),
    ({}, {EXTRA_SPEC: ['2']}, 2),
    ({}, {EXTRA_SPEC: '10000', NAME: '10000'}, 10_000)])
def test_a_hint_overrides_the_flavor(extra_specs, hints, least_us):
    assert elastic.requested(extra_specs, hints, WANTED) == least_us


def test_two_hints_that_differ_are_refused():
    with pytest.raises(reservation.InvalidReservationError, match='give it once'):
        elastic.in_hints({NAME: '5000', EXTRA_SPEC: '5001'})


@pytest.mark.parametrize(('extra_specs', 'hints', 'name'), [
    ({EXTRA_SPEC: '10001'}, {}, EXTRA_SPEC), ({EXTRA_SPEC: '5'}, {NAME: '10001'}, NAME)])
def test_more_than_the_runtime_is_refused(extra_specs, hints, name):
    with pytest.raises(reservation.InvalidReservationError) as caught:
        elastic.requested(extra_specs, hints, WANTED)
    assert str(caught.value) == (
        f'{name} is 10001 µs, but the runtime is 10000 µs: lower {name}, or raise '
        'cpu.rt_runtime_us.')


def test_what_the_kernel_cannot_account_is_refused():
    wanted = reservation.Reservation(5_000, 1 << 22, 1)
    assert elastic.requested({EXTRA_SPEC: '4'}, {}, wanted) == 4
    with pytest.raises(reservation.InvalidReservationError, match='less than the kernel can'):
        elastic.requested({EXTRA_SPEC: '3'}, {}, wanted)


def test_without_a_reservation_there_is_nothing_elastic():
    with pytest.raises(reservation.InvalidReservationError,
                       match=f'^{EXTRA_SPEC} is set without a reservation'):
        elastic.requested({EXTRA_SPEC: '5000'}, {}, None)


@pytest.mark.parametrize(('extra_specs', 'terms'), [
    ({}, elastic.Terms()),
    ({EXTRA_SPEC: '5000'}, elastic.Terms(None, 5000)),
    ({EXTRA_SPEC: '5000', 'hw:cpu.rt_criticality': 'B'}, elastic.Terms(Criticality.B, 5000)),
    # From before it was checked.
    ({EXTRA_SPEC: '10001'}, elastic.Terms()),
    ({EXTRA_SPEC: '10001', 'hw:cpu.rt_criticality': 'C'}, elastic.Terms(Criticality.C)),
    ({EXTRA_SPEC: '5000', 'hw:cpu.rt_criticality': 'x'}, elastic.Terms())])
def test_what_is_invalid_counts_as_not_said(extra_specs, terms):
    assert elastic.terms(extra_specs, WANTED) == terms


@pytest.mark.parametrize('terms', [
    elastic.Terms(), elastic.Terms(Criticality.C), elastic.Terms(None, 5000),
    elastic.Terms(Criticality.A, 2), elastic.Terms(known=False)])
def test_a_domain_says_it_too(terms):
    holding = ledger.Holding(WANTED, (1,), terms)
    assert domain_xml.holding_of(domain_xml.metadata(holding)).terms == terms
    # It is nothing that is held.
    assert holding == ledger.Holding(WANTED, (1,))
