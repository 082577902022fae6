# SPDX-License-Identifier: Apache-2.0
from nova import objects
import pytest

from nova_rt import reservation
from nova_rt.instance import hint_update

objects.register_all()


@pytest.mark.parametrize(('runtime_us', 'period_us', 'expected'), [
    (30_000, 100_000, {'hw:cpu.rt_runtime_us': ['30000']}),
    (50_000, 100_000, {'cpu.rt_runtime_us': ['50000']}),
    (30_000, 50_000, {'hw:cpu.rt_runtime_us': ['30000'],
                      'cpu.rt_period_us': ['50000']})])
def test_only_what_flavor_and_hint_do_not_say_is_hinted_anew(
        runtime_us, period_us, expected):
    spec = objects.RequestSpec(
        flavor=objects.Flavor(extra_specs={
            'hw:cpu.rt_runtime_us': '50000',
            'hw:cpu.rt_period_us': '100000'}),
        scheduler_hints={'hw:cpu.rt_runtime_us': ['30000'],
                         'group': ['db']})
    assert hint_update._hints(spec, reservation.Reservation(
        runtime_us, period_us, 2)) == {'group': ['db'], **expected}
