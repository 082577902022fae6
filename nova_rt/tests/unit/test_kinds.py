# SPDX-License-Identifier: Apache-2.0
"""Which kind of server a flavor and an image choose."""

import pytest

from nova_rt import kinds
from nova_rt import reservation

CONTAINER, MACHINE = kinds.Kind
POLICY = {'hw:cpu.rt_policy': 'fifo'}
CONTAINERS = {'trait:CUSTOM_RT_CONTAINERS': 'required'}
MACHINES = {'trait:CUSTOM_RT_VIRTUAL_MACHINES': 'required'}


@pytest.mark.parametrize(('extra_specs', 'image', 'kind', 'reason'), [
    (POLICY, {}, CONTAINER, 'the flavor has hw:cpu.rt_policy'),
    (CONTAINERS, {}, CONTAINER, 'the flavor has trait:CUSTOM_RT_CONTAINERS=required'),
    (MACHINES, {}, MACHINE, 'the flavor has trait:CUSTOM_RT_VIRTUAL_MACHINES=required'),
    ({}, MACHINES, MACHINE, 'the image has trait:CUSTOM_RT_VIRTUAL_MACHINES=required'),
    ({}, {'img_hv_type': 'lxc'}, CONTAINER, "the image has img_hv_type 'lxc'"),
    ({}, {'img_hv_type': 'kvm'}, MACHINE, "the image has img_hv_type 'kvm'"),
    ({}, {'hypervisor_type': 'QEMU'}, MACHINE, "the image has hypervisor_type 'QEMU'"),
    (POLICY, {'img_hv_type': 'lxc'}, CONTAINER, 'the flavor has hw:cpu.rt_policy')])
def test_flavor_or_image_choose_a_kind(extra_specs, image, kind, reason):
    assert kinds.chosen(extra_specs, image) == kinds.Choice(kind, reason)


@pytest.mark.parametrize(('extra_specs', 'image'), [
    ({}, {}), ({'hw:cpu.rt_runtime_us': '1000'}, {'img_hv_type': 'vmware'}),
    ({'trait:CUSTOM_RT_CONTAINERS': 'forbidden'}, {'hw_disk_bus': 'virtio'}),
    ({}, {'img_hv_type': None})])
def test_all_else_leaves_the_kind_open(extra_specs, image):
    assert kinds.chosen(extra_specs, image) is None


@pytest.mark.parametrize(('extra_specs', 'image'), [
    (POLICY, {'img_hv_type': 'qemu'}), (POLICY, MACHINES), (POLICY | MACHINES, {}),
    (CONTAINERS, {'hypervisor_type': 'kvm'}), (CONTAINERS | MACHINES, {}),
    (MACHINES, {'img_hv_type': 'lxc'})])
def test_two_kinds_are_refused_in_a_sentence_that_names_both(extra_specs, image):
    with pytest.raises(reservation.InvalidReservationError) as refusal:
        kinds.chosen(extra_specs, image)
    sentence = str(refusal.value)
    assert 'which is for containers' in sentence
    assert 'which is for virtual machines' in sentence
    assert sentence.endswith(': remove one of the two.')


@pytest.mark.parametrize(('dialect', 'hypervisor', 'kind'), [
    ('deadline', 'QEMU', MACHINE), ('rt-group', 'LXC', CONTAINER), ('hcbs-multi', 'x', CONTAINER),
    ('none', 'LXC', CONTAINER), ('none', 'QEMU', MACHINE), (None, 'kvm', MACHINE),
    (None, 'ironic', None), (None, None, None)])
def test_a_host_says_by_its_dialect_or_its_hypervisor_what_it_runs(dialect, hypervisor, kind):
    assert kinds.of_host(dialect, hypervisor) is kind
