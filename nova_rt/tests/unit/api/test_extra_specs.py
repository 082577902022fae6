# SPDX-License-Identifier: Apache-2.0
"""The validators as Nova loads and calls them, without the paste filter."""

from nova import exception
from nova.api.validation.extra_specs import validators
import pytest

from nova_rt.api import extra_specs

RUNTIME, PERIOD, POLICY, PRIORITY, CRITICALITY, LEAST = (
    each.name for each in extra_specs.register())


def test_nova_finds_the_validators_by_their_entry_point():
    for each in extra_specs.register():
        found = validators.VALIDATORS[each.name]
        assert isinstance(found, extra_specs.ReservationValidator)


@pytest.mark.parametrize(('name', 'value'), [
    (RUNTIME, '2'), (RUNTIME, '4194304'), (PERIOD, '100'),
    (PERIOD, '4194304'), (POLICY, 'fifo'), (POLICY, 'rr'), (PRIORITY, '1'),
    (PRIORITY, '99'), (CRITICALITY, 'A'), (CRITICALITY, 'B'), (CRITICALITY, 'C'),
    (LEAST, '2'), (LEAST, '4194304')])
def test_value_within_its_limits_is_valid(name, value):
    validators.validate(name, value)


@pytest.mark.parametrize(('name', 'value', 'words'), [
    (RUNTIME, '1', 'below 2 µs'),
    (RUNTIME, '4194305', 'longest period'),
    (PERIOD, '99', 'from 100 µs to 4194304 µs'),
    (PERIOD, '4194305', 'from 100 µs to 4194304 µs'),
    (POLICY, 'FIFO', 'fifo, rr'),
    (PRIORITY, '0', 'from 1 to 99'),
    (PRIORITY, '100', 'from 1 to 99'),
    (CRITICALITY, 'D', 'give one of A, B, C'),
    (CRITICALITY, 'c', 'give one of A, B, C'),
    (CRITICALITY, '', 'give one of A, B, C'),
    (LEAST, '1', 'below 2 µs'),
    (LEAST, '4194305', 'longest period'),
    (LEAST, 'x', 'whole number'),
    # What int() reads and Nova's own validator would pass.
    (RUNTIME, '1_000', 'whole number'),
    (RUNTIME, ' 5000', 'whole number'),
    (PERIOD, '٥٠٠٠', 'whole number'),
    (PERIOD, '100000.0', 'whole number'),
])
def test_other_value_is_refused_with_a_sentence(name, value, words):
    with pytest.raises(exception.ValidationError, match=words) as refusal:
        validators.validate(name, value)
    assert name in str(refusal.value)
    assert refusal.value.code == 400


def test_unknown_name_next_to_ours_stays_unknown_to_nova():
    with pytest.raises(exception.ValidationError, match='not appear'):
        validators.validate('hw:cpu.rt_runtim_us', '5000')


def test_every_validator_describes_itself():
    for each in extra_specs.register():
        assert len(each.description) > 20
        assert each.value['type'] in (int, str)
