# SPDX-License-Identifier: Apache-2.0
import pytest

from stack import services

STAND_IN, REAL = services.NeutronAnswers, services.Neutron


def test_a_stack_without_network_has_the_stand_in_of_neutron():
    parts = services.chosen([])
    assert STAND_IN in parts
    assert REAL not in parts


def test_real_neutron_takes_the_place_of_its_stand_in():
    parts = services.chosen(['network'])
    assert REAL in parts
    assert STAND_IN not in parts


@pytest.mark.parametrize('more', [
    (), ('mano',), ('network',), ('mano', 'network')])
def test_whatever_is_chosen_each_part_finds_those_that_it_needs(more):
    parts = services.chosen(more)
    names = [part.name for part in parts]
    assert len(names) == len(set(names))
    for part in parts:
        assert {*part.needs, *part.needs_to_prepare} <= {*names}
