# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st
import pytest

from nova_rt import reservation
from nova_rt import spelling

RUNTIME, PERIOD, POLICY, PRIORITY, CRITICALITY, MINIMUM = spelling.EXTRA_SPECS


@pytest.mark.parametrize(('name', 'meant'), [
    ('cpu.rt_runtim_us', 'cpu.rt_runtime_us'),
    ('hw:cpu.rt_perod_us', 'cpu.rt_period_us'),
    ('hw_cpu.rt_runtime_us', 'cpu.rt_runtime_us'),
    ('cpu:rt_period_us', 'cpu.rt_period_us'),
    ('Cpu.Rt_Runtime_Us', 'cpu.rt_runtime_us'),
    ('cpu.runtime_us', 'cpu.rt_runtime_us'),
    ('runtime_us', 'cpu.rt_runtime_us'),
    ('rt_period', 'cpu.rt_period_us'),
    ('cpu.rt_criticalty', 'cpu.rt_criticality'),
    ('rt_min_runtime_us', 'cpu.rt_min_runtime_us'),
    ('cpu.min_runtime_us', 'cpu.rt_min_runtime_us'),
    ('cpu.criticality', 'cpu.rt_criticality'),
    ('criticality', 'cpu.rt_criticality')])
def test_mistyped_hint_is_refused_with_the_right_name(name, meant):
    with pytest.raises(reservation.InvalidReservationError,
                       match=f'did you mean {meant}'):
        spelling.check_hint_names({'group': 'x', name: '5000'})


@pytest.mark.parametrize('name', ['cpu.rt_policy', 'hw:cpu.rt_prio'])
def test_hint_that_only_a_flavor_can_give_is_refused(name):
    with pytest.raises(reservation.InvalidReservationError, match='set it in the flavor'):
        spelling.check_hint_names([name])


@pytest.mark.parametrize(('name', 'meant'), [
    ('cpu.rt_runtime_us', RUNTIME), ('hw:cpu_rt_period_us', PERIOD),
    ('hw:cpu.rt_polcy', POLICY), ('hw:cpu.rt-priority', PRIORITY),
    ('HW:cpu.rt_runtime_us', RUNTIME), ('hw:rt_criticality', CRITICALITY),
    ('hw:cpu.rt_min_runtime', MINIMUM), ('hw:rt_min_runtime_us', MINIMUM)])
def test_mistyped_extra_spec_is_refused_with_the_right_name(name, meant):
    with pytest.raises(reservation.InvalidReservationError,
                       match=f'did you mean {meant}'):
        spelling.check_extra_spec_names([name])


@pytest.mark.parametrize('group', ['1', '_x', '-y', '_' * 64])
def test_a_share_in_a_group_of_its_own_is_refused(group):
    with pytest.raises(reservation.InvalidReservationError, match='a group of its own'):
        spelling.check_extra_spec_names([f'resources{group}:CUSTOM_RT_SHARE'])


def test_names_of_ours_and_of_others_are_no_mistakes():
    spelling.check_hint_names([
        'cpu.rt_runtime_us', 'hw:cpu.rt_period_us', 'cpu.rt_criticality', 'group', 'same_host',
        'query', 'cpu_model', 'period', 'rt', 'cpu.rtx'])
    spelling.check_extra_spec_names([
        *spelling.EXTRA_SPECS, 'hw:cpu_policy', 'hw:cpu_realtime',
        'hw:cpu_realtime_mask', 'quota:cpu_period', 'resources:VCPU',
        'resources:CUSTOM_RT_SHARES', 'trait:CUSTOM_HCBS'])


@given(st.sampled_from(spelling.HINTS), st.data())
def test_hint_with_one_character_lost_is_recognised(name, data):
    lost = data.draw(st.integers(0, len(name) - 1))
    mistyped = name[:lost] + name[lost + 1:]
    with pytest.raises(reservation.InvalidReservationError, match='did you mean'):
        spelling.check_hint_names([mistyped])


@given(st.sampled_from((spelling.check_hint_names,
                        spelling.check_extra_spec_names)), st.text())
def test_mistyped_name_is_quoted_so_that_the_sentence_can_be_printed(
        check, ending):
    with pytest.raises(reservation.InvalidReservationError) as refusal:
        check([f'hw:cpu.rt_x{ending}'])
    assert str(refusal.value).isprintable()
