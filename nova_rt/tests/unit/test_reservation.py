# SPDX-License-Identifier: Apache-2.0

import re

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import bandwidth
from nova_rt import reservation
from nova_rt import wording
from nova_rt.reservation import Reservation
from nova_rt.reservation import Times
from nova_rt.tests.unit import strategies

RUNTIME, PERIOD, POLICY, PRIORITY = reservation.EXTRA_SPECS
SENTENCE = re.compile(r'\S[^\n]{10,250}[.?]')

periods = st.integers(bandwidth.MIN_PERIOD_US, bandwidth.MAX_PERIOD_US)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def refusal(function, *args):
    with pytest.raises(reservation.InvalidReservationError) as caught:
        function(*args)
    sentence = str(caught.value)
    assert SENTENCE.fullmatch(sentence), sentence
    return sentence


def attempt(function, *args):
    """Return the result, or None, and the sentence of a refusal, or None."""
    try:
        return function(*args), None
    except reservation.InvalidReservationError as error:
        return None, str(error)


def test_reservation_of_the_example_has_half_a_cpu_twice():
    wanted = Reservation(100000, 200000, 2)
    assert wanted.bandwidth == bandwidth.BW_UNIT // 2
    assert wanted.share == bandwidth.BW_UNIT


@pytest.mark.parametrize(('runtime_us', 'period_us', 'vcpus', 'words'), [
    (0, 200000, 1, 'cpu.rt_runtime_us is 0 µs'),
    (-1, 200000, 1, 'cpu.rt_runtime_us is -1 µs'),
    (1, 200000, 1, 'below 2 µs'),
    (2 ** 63, 200000, 1, 'longer than the longest period'),
    (5, 10, 1, 'cpu.rt_period_us is 10 µs'),
    (5, 99, 1, 'from 100 µs to 4194304 µs'),
    (5, 4194305, 1, 'from 100 µs to 4194304 µs'),
    (200001, 200000, 1, 'longer than the period of 200000 µs'),
    (100000, 200000, 0, 'at least 1 vCPU'),
    (100000, 200000, -1, 'at least 1 vCPU'),
    (3, 4194304, 1, 'less than the kernel can account'),
])
def test_reservation_that_cannot_be_is_refused(
        runtime_us, period_us, vcpus, words):
    assert words in refusal(Reservation, runtime_us, period_us, vcpus)


@pytest.mark.parametrize(('runtime_us', 'period_us'), [
    (2, 100), (100, 100), (4, 4194304), (4194304, 4194304)])
def test_reservation_at_its_limits_can_be(runtime_us, period_us):
    assert Reservation(runtime_us, period_us, 1).bandwidth >= 1


@given(st.integers(), st.integers(), st.integers())
def test_reservation_is_within_the_limits_or_refused_by_a_sentence(
        runtime_us, period_us, vcpus):
    wanted, sentence = attempt(Reservation, runtime_us, period_us, vcpus)
    if sentence:
        assert SENTENCE.fullmatch(sentence)
    else:
        assert 2 <= wanted.runtime_us <= wanted.period_us
        assert 100 <= wanted.period_us <= 1 << 22
        assert 1 <= wanted.bandwidth <= bandwidth.BW_UNIT


@given(strategies.reservations())
def test_share_is_the_bandwidth_of_all_vcpus(wanted):
    assert wanted.share == sum([wanted.bandwidth] * wanted.vcpus)


@given(st.integers(-10 ** 17, 10 ** 17))
def test_number_may_be_an_int_or_a_list_of_one(number):
    assert reservation.parse_number('x', number) == number
    assert reservation.parse_number('x', [number]) == number
    assert reservation.parse_number('x', (number,)) == number


@given(st.integers(0, 10 ** 17), st.integers(0, 6000))
def test_number_may_be_a_string_of_digits_or_a_list_of_one(number, zeros):
    text = '0' * zeros + str(number)
    assert reservation.parse_number('x', text) == number
    assert reservation.parse_number('x', [text]) == number


@pytest.mark.parametrize('value', [
    'abc', '1e5', '', ' ', ' 5', '5\n', '+5', '-5', '5.0', '1_000', '0x10',
    '٥٠٠٠', '５０００', '²', 'Ⅷ', '\ud800', 'x' * 10000, 5.0, 1e5,
    float('nan'), None, True, False, {}, {'5': 5}, [True], [['5']], b'5'], ids=wording.shown)
def test_what_is_no_number_is_refused(value):
    sentence = refusal(reservation.parse_number, RUNTIME, value)
    assert sentence.startswith(f'{RUNTIME} is ')
    assert 'whole number in digits' in sentence


@pytest.mark.parametrize('value', [
    10 ** 18, -10 ** 18, 10 ** 6000, '1' + '0' * 18, '9' * 6000,
    ['9' * 6000]], ids=lambda value: type(value).__name__)
def test_number_far_out_of_range_is_refused_without_showing_it(value):
    assert 'far out of range' in refusal(
        reservation.parse_number, RUNTIME, value)


@pytest.mark.parametrize(('value', 'count'), [
    ([], 0), (['5', '6'], 2), ((5, 5), 2)])
def test_list_of_other_than_one_value_is_refused(value, count):
    assert f'{count} values: give one' in refusal(
        reservation.parse_number, RUNTIME, value)


@given(anything)
def test_parsing_gives_an_int_or_a_sentence(value):
    number, sentence = attempt(reservation.parse_number, 'x', value)
    assert SENTENCE.fullmatch(sentence) if sentence else type(number) is int


@given(st.text())
def test_only_ascii_digits_are_digits(text):
    number, sentence = attempt(reservation.parse_number, 'x', text)
    if text and set(text) <= set('0123456789'):
        assert number is not None or 'out of range' in sentence
    else:
        assert 'whole number in digits' in sentence


@given(st.text(max_size=500))
def test_what_is_shown_of_a_text_is_short_and_printable(text):
    shown = wording.shown(text)
    assert len(shown) <= 60
    assert shown.isprintable()


@given(periods, periods)
def test_hint_means_the_same_in_every_form(runtime_us, period_us):
    expected = Times(runtime_us, period_us)
    for form in (int, str, lambda value: [value], lambda value: [str(value)]):
        for prefix in ('', 'hw:'):
            assert expected == reservation.times_from_hints({
                f'{prefix}cpu.rt_runtime_us': form(runtime_us),
                f'{prefix}cpu.rt_period_us': form(period_us)})


def test_hints_in_mixed_spellings_complete_each_other():
    assert reservation.times_from_hints(
        {'hw:cpu.rt_runtime_us': 5000, 'cpu.rt_period_us': ['10000']}
    ) == Times(5000, 10000)


def test_hints_that_contradict_each_other_are_refused():
    same = {'cpu.rt_period_us': 5000, 'hw:cpu.rt_period_us': '5000'}
    assert reservation.times_from_hints(same) == Times(None, 5000)
    assert 'give it once' in refusal(
        reservation.times_from_hints, {**same, 'cpu.rt_period_us': 6000})


def test_hints_of_others_ask_for_nothing():
    assert reservation.times_from_hints({'group': ['x']}) == Times()


def test_extra_specs_without_the_prefix_ask_for_nothing():
    assert reservation.times_from_extra_specs(
        {'cpu.rt_runtime_us': '5000'}) == Times()


@given(*[st.none() | periods] * 4)
def test_what_is_absent_comes_from_the_base(runtime, period, lower, below):
    merged = Times(runtime, period).over(Times(lower, below))
    assert merged.runtime_us == (lower if runtime is None else runtime)
    assert merged.period_us == (below if period is None else period)


RESERVED = {RUNTIME: '100000', PERIOD: '200000'}


@pytest.mark.parametrize(('extra_specs', 'hints', 'expected'), [
    ({}, {}, None),
    ({'hw:cpu_policy': 'dedicated'}, {'group': 'x'}, None),
    (RESERVED, {}, (100000, 200000)),
    (RESERVED, {'cpu.rt_runtime_us': ['120000']}, (120000, 200000)),
    (RESERVED, {'cpu.rt_period_us': '400000'}, (100000, 400000)),
    ({}, {'cpu.rt_runtime_us': 5, 'cpu.rt_period_us': 100}, (5, 100)),
    ({PERIOD: '200000'}, {'cpu.rt_runtime_us': 5000}, (5000, 200000)),
])
def test_hint_overrides_the_flavor(extra_specs, hints, expected):
    wanted = reservation.requested(extra_specs, hints, 3)
    assert wanted == (expected and Reservation(*expected, 3))


@pytest.mark.parametrize(('extra_specs', 'hints', 'words'), [
    ({RUNTIME: '5000'}, {}, 'cpu.rt_period_us is neither'),
    ({}, {'cpu.rt_period_us': 5000}, 'cpu.rt_runtime_us is neither'),
    (RESERVED, {'cpu.rt_runtime_us': 200001}, 'longer than the period'),
    ({POLICY: 'rr'}, {}, 'without a reservation'),
    ({**RESERVED, POLICY: 'idle'}, {}, 'fifo, rr'),
    ({**RESERVED, PRIORITY: '5'}, {}, f'without {POLICY}'),
    ({**RESERVED, POLICY: 'rr', PRIORITY: '100'}, {}, 'from 1 to 99'),
])
def test_request_that_cannot_be_is_refused(extra_specs, hints, words):
    assert words in refusal(reservation.requested, extra_specs, hints, 1)


@pytest.mark.parametrize('extra_specs', [
    {}, {RUNTIME: '5000'}, {PERIOD: '5000'}, {PRIORITY: '5'},
    {POLICY: 'rr', PERIOD: '5000'}])
def test_flavor_may_be_half_described(extra_specs):
    assert reservation.described(extra_specs, 1) is None


def test_flavor_that_is_whole_describes_its_reservation():
    assert (reservation.described({**RESERVED, PRIORITY: '5'}, 2)
            == Reservation(100000, 200000, 2))


@pytest.mark.parametrize(('extra_specs', 'words'), [
    ({RUNTIME: '200001', PERIOD: '200000'}, 'longer than'),
    ({RUNTIME: '0'}, 'below 2 µs'), ({PERIOD: '10'}, 'from 100 µs'),
    ({POLICY: 'FIFO'}, 'fifo, rr'), ({PRIORITY: '0'}, 'from 1 to 99'),
    ({PRIORITY: 'high'}, 'whole number')])
def test_flavor_that_is_wrong_is_refused(extra_specs, words):
    assert words in refusal(reservation.described, extra_specs, 1)


def test_init_policy_has_priority_1_unless_given():
    assert reservation.init_policy({}) is None
    assert (reservation.init_policy({POLICY: 'rr'})
            == reservation.InitPolicy('rr', 1))
    assert (reservation.init_policy({POLICY: 'fifo', PRIORITY: '99'})
            == reservation.InitPolicy('fifo', 99))


@given(strategies.reservations(), strategies.bandwidths)
def test_cap_refuses_just_what_is_over_it(wanted, cap):
    if wanted.bandwidth <= cap:
        reservation.check_cap(wanted, cap)
    else:
        refusal(reservation.check_cap, wanted, cap)


def test_cap_itself_can_be_reserved():
    reservation.check_cap(
        Reservation(950000, 1000000, 1), strategies.CAP)


def test_cap_tells_the_longest_runtime_if_there_is_one():
    cap = bandwidth.fraction_to_bandwidth(0.01)
    assert 'lower cpu.rt_runtime_us to 10 or raise' in refusal(
        reservation.check_cap, Reservation(500, 1000, 1), cap)
    sentence = refusal(reservation.check_cap, Reservation(50, 100, 1), cap)
    assert sentence.endswith('can be reserved: raise cpu.rt_period_us.')
