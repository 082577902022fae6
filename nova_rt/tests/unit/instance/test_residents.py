# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt.instance import residents
from nova_rt.tests.unit.instance import servers


@pytest.mark.parametrize(('vm_state', 'task_state', 'moved'), [
    ('active', 'migrating', True), ('paused', 'migrating', True), ('stopped', 'migrating', False),
    ('resized', None, True), ('stopped', 'resize_prep', True), ('active', None, False),
    ('active', 'rebooting', False)])
def test_a_server_is_moved_in_the_states_in_which_novas_tracker_says_so(
        vm_state, task_state, moved):
    server = servers.server(vm_state=vm_state, task_state=task_state, moved=True)
    assert residents.is_moved_by(server, servers.migration(kind='live-migration')) is moved


@pytest.mark.parametrize('kind', ['hint', 'move'])
def test_a_server_that_is_changed_in_place_is_not_moved_by_what_failed_before(kind):
    server = servers.server(task_state='resize_prep', moved=True, rt_in_place=kind)
    assert not residents.is_moved_by(server, servers.migration())
