# SPDX-License-Identifier: Apache-2.0
from nova import objects
import pytest

from nova_rt.instance import holdings
from nova_rt.instance import in_place

objects.register_all()


def flavor(runtime_us='40000', period_us='100000', memory_mb=64, vcpus=2,
           **more):
    return objects.Flavor(
        vcpus=vcpus, memory_mb=memory_mb, root_gb=1, ephemeral_gb=0, swap=0,
        rxtx_factor=1.0, vcpu_weight=0, extra_specs={
            'hw:cpu.rt_runtime_us': runtime_us,
            'hw:cpu.rt_period_us': period_us, **more})


def server(vm_state='active', pcpus='3', **more):
    return objects.Instance(
        host='here', vm_state=vm_state, flavor=flavor(), old_flavor=None,
        new_flavor=None, numa_topology=None, resources=None,
        pci_requests=objects.InstancePCIRequests(requests=[]),
        system_metadata={'rt_pcpus': pcpus, **more})


@pytest.mark.parametrize('other', [
    flavor('60000'), flavor('20000'), flavor(period_us='200000'), flavor(),
    flavor(**{'resources:CUSTOM_RT_SHARE': '5'})])
def test_a_flavor_that_differs_in_times_alone_is_possible(other):
    assert in_place.possible(server(), other)


@pytest.mark.parametrize('other', [
    flavor(memory_mb=128), flavor(vcpus=3),
    flavor(**{'hw:cpu.rt_policy': 'rr'}), flavor(**{'quota:cpu_shares': '9'}),
    objects.Flavor(vcpus=2, extra_specs={})])
def test_a_flavor_that_differs_in_anything_else_is_not(other):
    assert not in_place.possible(server(), other)


@pytest.mark.parametrize('changed', [
    server('rescued'), server('paused'), server(pcpus='')])
def test_a_server_in_another_state_or_without_a_claim_is_not(changed):
    assert not in_place.possible(changed, flavor('60000'))


@pytest.mark.parametrize('runtime_us', ['60000', '20000'])
def test_until_it_is_certain_the_larger_is_occupied(runtime_us):
    changed = server()
    in_place.begin(changed, in_place.RESIZE)
    changed.new_flavor = flavor(runtime_us)
    larger = max(int(runtime_us), 40_000)
    assert in_place.occupied_by(changed).reservation.runtime_us == larger
    changed.old_flavor, changed.flavor = changed.flavor, changed.new_flavor
    assert in_place.occupied_by(changed).reservation.runtime_us == larger
    holdings.end_move(changed)
    assert in_place.occupied_by(changed).reservation.runtime_us == int(
        runtime_us)


def test_when_it_has_ended_nothing_is_left_of_it():
    changed = server()
    in_place.begin(changed, in_place.HINT)
    assert in_place.begun(changed)
    assert in_place.by_hint(changed)
    holdings.end_move(changed)
    assert changed.system_metadata == {'rt_pcpus': '3'}
