# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import criticality
from nova_rt import reservation
from nova_rt.criticality import Criticality

WANTED = reservation.Reservation(10_000, 100_000, 1)
NAME, EXTRA_SPEC = criticality.NAME, criticality.EXTRA_SPEC
A, B, C = Criticality
A_AND_B = frozenset({A, B})


@pytest.mark.parametrize('value', ['D', 'c', '', 'AB', 3, None, True, ['A', 'B'], [], ['D'], {}])
def test_everything_but_the_three_letters_is_refused(value):
    with pytest.raises(reservation.InvalidReservationError, match=f'^{EXTRA_SPEC} .*give one'):
        criticality.parse(EXTRA_SPEC, value)


@given(st.one_of(st.text(), st.integers(), st.lists(st.text()), st.binary()))
def test_no_value_makes_it_fail_otherwise(value):
    told = None
    try:
        told = criticality.parse(NAME, value).name
    except reservation.InvalidReservationError as exc:
        told = str(exc)
    assert told.isprintable()


@pytest.mark.parametrize(('extra_specs', 'hints', 'asked'), [
    ({}, {}, None),
    ({EXTRA_SPEC: 'B'}, {}, B),
    ({EXTRA_SPEC: 'B'}, {NAME: 'A'}, A),
    ({EXTRA_SPEC: 'B'}, {NAME: ['C']}, C),
    ({}, {EXTRA_SPEC: ['C']}, C),
    ({}, {EXTRA_SPEC: 'C', NAME: 'C'}, C)])
def test_a_hint_overrides_the_flavor(extra_specs, hints, asked):
    assert criticality.requested(extra_specs, hints, WANTED) is asked


def test_two_hints_that_differ_are_refused():
    with pytest.raises(reservation.InvalidReservationError, match='give it once'):
        criticality.in_hints({NAME: 'A', EXTRA_SPEC: 'B'})


@pytest.mark.parametrize(('extra_specs', 'hints', 'name'), [
    ({EXTRA_SPEC: 'B'}, {}, EXTRA_SPEC), ({}, {NAME: 'B'}, NAME)])
def test_without_a_reservation_there_is_nothing_critical(extra_specs, hints, name):
    with pytest.raises(reservation.InvalidReservationError,
                       match=f'^{name} is set without a reservation'):
        criticality.requested(extra_specs, hints, None)


@pytest.mark.parametrize('host', [A_AND_B, frozenset({C})])
@pytest.mark.parametrize('asked', [None, *Criticality])
def test_where_hosts_take_c_alone_or_not_at_all_the_rule_is_that_of_algorithm_1(host, asked):
    passes = not ((asked is C) ^ (C in host))
    assert (criticality.refusal(host, asked) is None) == passes


def test_a_refusal_says_what_the_host_takes_and_what_the_server_is():
    assert criticality.refusal(A_AND_B, C) == (
        'takes servers of criticality A and B only, and this one is C')
    assert criticality.refusal(frozenset({C}), None) == (
        'takes servers of criticality C only, and this one is A, as it says none')


@given(st.sets(st.sampled_from(Criticality), min_size=1))
def test_what_a_host_takes_arrives_as_it_was_sent(taken):
    assert criticality.from_stat(criticality.to_stat(taken)) == taken


def test_a_host_of_an_older_release_takes_all():
    assert criticality.from_stat(None) == criticality.EVERY
    with pytest.raises(KeyError):
        criticality.from_stat('A,D')
