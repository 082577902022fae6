# SPDX-License-Identifier: Apache-2.0
"""The fields of the form, and what they change."""

from hypothesis import given
from hypothesis import strategies as st
import pytest

from horizon_rt import fields
from nova_rt import bandwidth
from nova_rt import flavor_specs
from nova_rt import reservation

GOOD = {'runtime_us': '30000', 'period_us': '100000'}
SPECS = {'hw:cpu.rt_runtime_us': '30000', 'hw:cpu.rt_period_us': '100000'}
SHARE = 'resources:CUSTOM_RT_SHARE'


@pytest.mark.parametrize('entered', [
    {}, GOOD, {**GOOD, 'min_runtime_us': '30000'}, {'period_us': '100000'},
    {**GOOD, 'criticality': 'C', 'policy': 'fifo', 'priority': '99'}])
def test_what_a_flavor_may_have_is_no_trouble(entered):
    assert fields.trouble(entered, 2) is None


@pytest.mark.parametrize(('entered', 'field'), [
    ({**GOOD, 'runtime_us': '1e5'}, 'runtime_us'),
    ({**GOOD, 'runtime_us': '-1'}, 'runtime_us'),
    ({**GOOD, 'runtime_us': '100001'}, 'runtime_us'),
    ({**GOOD, 'period_us': '99'}, 'period_us'),
    ({**GOOD, 'period_us': '9' * 5000}, 'period_us'),
    ({**GOOD, 'min_runtime_us': '30001'}, 'min_runtime_us'),
    ({**GOOD, 'min_runtime_us': '<b>'}, 'min_runtime_us'),
    ({**GOOD, 'criticality': 'D'}, 'criticality'),
    ({**GOOD, 'policy': 'batch'}, 'policy'),
    ({**GOOD, 'priority': '1'}, 'priority'),
    ({**GOOD, 'policy': 'rr', 'priority': '100'}, 'priority')])
def test_what_is_wrong_is_said_at_its_field(entered, field):
    found, sentence = fields.trouble(entered, 2)
    assert found == field
    assert sentence.endswith('.')


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(
    fields.SPECS, st.sampled_from(['', '1', '2', '50', '100', '30000', 'A', 'fifo', 'x']))))
def test_what_the_form_takes_nova_api_takes_and_the_other_way_round(entered):
    specs = {fields.SPECS[field]: text for field, text in entered.items() if text}
    try:
        reservation.init_policy(specs)
        flavor_specs.check(specs, 2)
    except reservation.InvalidReservationError:
        assert fields.trouble(entered, 2)
    else:
        assert fields.trouble(entered, 2) is None


def test_only_what_differs_is_changed():
    change = fields.change({**SPECS, 'hw:mem_page_size': 'any'},
                           {**GOOD, 'runtime_us': '40000'}, 2)
    assert (change.added, change.removed) == ({'hw:cpu.rt_runtime_us': '40000'}, ())


def test_empty_fields_remove_what_is_ours():
    change = fields.change({**SPECS, 'hw:mem_page_size': 'any', SHARE: '1'}, {}, 2)
    assert change.added == {}
    assert sorted(change.removed) == sorted((*SPECS, SHARE))


def test_a_share_that_the_flavor_tells_stays_true_and_none_is_added():
    share = 2 * bandwidth.to_bandwidth(40000, 100000)
    entered = {**GOOD, 'runtime_us': '40000'}
    assert fields.change({**SPECS, SHARE: '7'}, entered, 2).added[SHARE] == str(share)
    assert SHARE not in fields.change(SPECS, entered, 2).added


def test_the_form_shows_what_the_flavor_has():
    assert fields.given(SPECS) == {**dict.fromkeys(fields.SPECS, ''), **GOOD}
