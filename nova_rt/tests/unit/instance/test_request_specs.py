# SPDX-License-Identifier: Apache-2.0
from nova import objects
from nova.compute import task_states
import pytest

from nova_rt import bandwidth
from nova_rt.instance import request_specs
from nova_rt.tests.unit.instance import servers


@pytest.mark.parametrize(('task_state', 'percent'), [
    (None, 30), (task_states.UNSHELVING, 30), (task_states.MIGRATING, 30),
    (task_states.RESIZE_PREP, 5)])
def test_only_for_a_resize_a_server_asks_for_another_flavor_than_it_has(task_state, percent):
    spec = objects.RequestSpec(flavor=servers.flavor(5), scheduler_hints={})
    request_specs.take_own_flavor(spec, servers.server(30, task_state=task_state))
    assert bandwidth.percent(
        request_specs.reservation_of(spec).bandwidth) == f'{percent}%'
