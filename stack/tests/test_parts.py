# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from stack import nodes
from stack import rundir
from stack import service
from stack import services
from stack.services import hosts
from stack.services import libvirt

STAND_IN, REAL = services.FakeNeutron, services.Neutron


def test_a_stack_without_network_has_the_stand_in_of_neutron():
    parts = services.chosen([])
    assert STAND_IN in parts
    assert REAL not in parts


def test_real_neutron_takes_the_place_of_its_stand_in():
    parts = services.chosen(['network'])
    assert REAL in parts
    assert STAND_IN not in parts


def test_a_second_host_has_parts_of_its_own(tmp_path):
    directory = rundir.RunDir(tmp_path / 'run')
    directory.create()
    site = service.Site(directory, virt_type='qemu', hosts=2)
    parts = [part(site) for part in services.chosen((), True, True, True)]
    names = [part.name for part in parts]
    assert {'libvirtd', 'libvirtd-2', 'nova-compute', 'nova-compute-2'} <= {*names}
    for part in parts:
        assert {*part.needs, *part.needs_to_prepare} <= {*names}


def test_two_hosts_share_no_pcpu_address_name_or_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, 'cpu_count', lambda: 5)
    site = service.Site(rundir.RunDir(tmp_path / 'run'), virt_type='qemu', hosts=2)
    first, second = (hosts.options(site, number) for number in site.numbers)
    assert first['rt']['cpu_set'] == '0,1'
    assert second['rt']['cpu_set'] == '2,3,4'
    assert first['DEFAULT']['my_ip'] != second['DEFAULT']['my_ip']
    assert first['DEFAULT']['host'] != second['DEFAULT']['host']
    assert hosts.nova(site, 1) != hosts.nova(site, 2)
    for options, other in ((first, 2), (second, 1)):
        assert str(libvirt.data(site, other)) in options['libvirt']['live_migration_uri']


def test_the_only_host_has_all_pcpus(tmp_path):
    site = service.Site(rundir.RunDir(tmp_path / 'run'), virt_type='qemu')
    assert hosts.options(site, 1) == {}


@pytest.mark.parametrize('more', [
    (), ('leases',), ('mano',), ('network',), ('mano', 'network')])
@pytest.mark.parametrize('count', [0, 2])
@pytest.mark.parametrize('virt_type', ['lxc', 'qemu'])
def test_whatever_is_chosen_each_part_finds_those_that_it_needs(
        tmp_path, more, count, virt_type):
    directory = rundir.RunDir(tmp_path / 'run')
    directory.create()
    site = service.Site(directory, more=more, nodes=count, virt_type=virt_type)
    parts = [part(site) for part in services.chosen(more, not count, site.runs_machines)]
    if count:
        parts += nodes.services(site)
    names = [part.name for part in parts]
    assert len(names) == len(set(names))
    for part in parts:
        assert {*part.needs, *part.needs_to_prepare} <= {*names}
