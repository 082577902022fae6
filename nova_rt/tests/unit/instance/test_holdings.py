# SPDX-License-Identifier: Apache-2.0
from nova import exception
from nova import objects
import pytest

from nova_rt import reservation
from nova_rt.instance import flavors
from nova_rt.instance import holdings

objects.register_all()

def server(runtime_us, **system_metadata):
    return objects.Instance(
        host='here', flavor=objects.Flavor(vcpus=2, extra_specs={
            'hw:cpu.rt_runtime_us': runtime_us,
            'hw:cpu.rt_period_us': '100000'}),
        system_metadata=system_metadata)


def test_a_claimed_server_holds_its_reservation_on_its_pcpus():
    holding = holdings.holding_of(server('40000', rt_pcpus='9'))
    assert holding.pcpus == (0, 3)
    assert holding.reservation == reservation.Reservation(40_000, 100_000, 2)


def test_a_server_older_than_nova_rt_with_a_senseless_flavor_holds_nothing():
    assert holdings.holding_of(server('abc')) is None


def test_a_server_with_a_senseless_flavor_is_not_started_and_told_why():
    with pytest.raises(exception.InstanceDeployFailure, match="'abc'"):
        holdings.holding_on(server('abc'), 'here')


def test_the_sides_of_a_move_are_held_apart():
    moving = server('40000', rt_pcpus='3', new_rt_pcpus='c')
    assert holdings.holding_of(moving, prefix=holdings.NEW).pcpus == (2, 3)


@pytest.mark.parametrize(('prefix', 'pcpus'), [
    (holdings.OLD, '3'), (holdings.NEW, 'c')])
def test_the_side_that_a_move_ends_on_becomes_what_the_server_holds(
        prefix, pcpus):
    moving = server('40000', old_rt_pcpus='3', new_rt_pcpus='c')
    holdings.switch_side(moving, prefix)
    holdings.end_move(moving)
    assert moving.system_metadata == {'rt_pcpus': pcpus}


def test_the_share_of_hints_and_flavor_is_written_into_the_flavor():
    asked = objects.RequestSpec(
        scheduler_hints={'cpu.rt_runtime_us': ['50000']})
    merged = flavors.merged(server('40000').flavor, asked)
    assert merged.extra_specs['resources:CUSTOM_RT_SHARE'] == str(1 << 20)


def test_a_share_without_a_reservation_is_taken_out_of_the_flavor():
    by_hand = objects.Flavor(
        vcpus=1, extra_specs={'resources:CUSTOM_RT_SHARE': '5', 'x': 'y'})
    assert flavors.merged(by_hand, None).extra_specs == {'x': 'y'}
