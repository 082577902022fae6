# SPDX-License-Identifier: Apache-2.0
from types import SimpleNamespace

from nova_rt.removal import flavors


def test_what_is_nova_s_in_a_flavor_is_not_to_be_unset():
    rt1 = SimpleNamespace(name='rt1', flavorid='7', extra_specs={
        'hw:mem_page_size': 'large', 'hw:cpu.rt_runtime_us': '1',
        'trait:CUSTOM_RT_CONTAINERS': 'required', 'trait:CUSTOM_GPU': 'required'})
    (remnant,) = flavors.left([rt1])
    assert remnant.remedy == ('openstack flavor unset 7 --property hw:cpu.rt_runtime_us '
                              '--property trait:CUSTOM_RT_CONTAINERS')
    assert not remnant.ours


def test_a_flavor_without_a_reservation_is_not_named():
    plain = SimpleNamespace(name='m1', flavorid='1', extra_specs={'hw:cpu_policy': 'shared'})
    assert list(flavors.left([plain])) == []
