# SPDX-License-Identifier: Apache-2.0
import pytest

from stack import nodes
from stack import rundir
from stack import service
from stack import services

STAND_IN, REAL = services.FakeNeutron, services.Neutron


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
@pytest.mark.parametrize('count', [0, 2])
def test_whatever_is_chosen_each_part_finds_those_that_it_needs(
        tmp_path, more, count):
    directory = rundir.RunDir(tmp_path / 'run')
    directory.create()
    site = service.Site(directory, more=more, nodes=count)
    parts = [part(site) for part in services.chosen(more, not count)]
    if count:
        parts += nodes.services(site)
    names = [part.name for part in parts]
    assert len(names) == len(set(names))
    for part in parts:
        assert {*part.needs, *part.needs_to_prepare} <= {*names}
