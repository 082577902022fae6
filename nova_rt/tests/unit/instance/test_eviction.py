# SPDX-License-Identifier: Apache-2.0
"""What is to be done with servers that were stopped for others."""

import itertools

from nova import objects
from nova import utils
import pytest

from nova_rt import closing
from nova_rt.instance import eviction
from nova_rt.tests.unit.instance import servers

NODE, OTHER_NODE = 'a0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000002'
MARK = eviction.Mark(eviction.digest(servers.UUID), 1_800_000_000, eviction.digest(NODE),
                     'req-' + servers.MOVE, 2**31, True)
START, NOTHING, FORGET = eviction.Due.START, eviction.Due.NOTHING, eviction.Due.FORGET


def server(vm_state='stopped', task_state=None, locked=False):
    made = servers.server(vm_state=vm_state, task_state=task_state)
    made.locked = locked
    eviction.put(made, MARK)
    return made


def due(made, node=NODE, now_s=MARK.until_s):
    return eviction.due(made, MARK, node, now_s)


def test_a_mark_is_read_as_it_was_written_and_fits_novas_table():
    made = server()
    assert eviction.mark_of(made) == MARK
    assert len(made.system_metadata[eviction.MARK]) <= 255
    eviction.remove(made)
    assert eviction.mark_of(made) is None


def test_images_made_of_it_tell_of_no_other_server():
    # Nova writes all system metadata into an image of a server.
    properties = utils.get_image_from_system_metadata(server().system_metadata)['properties']
    assert eviction.MARK in properties
    for other in (servers.UUID, NODE):
        assert other not in str(properties)


def test_what_later_releases_add_to_it_is_no_trouble():
    made = server()
    text = made.system_metadata[eviction.MARK]
    made.system_metadata[eviction.MARK] = text.replace('{', '{"more":1,')
    assert eviction.mark_of(made) == MARK


@pytest.mark.parametrize('text', ['', 'x', '[]', '{}', '{"misser": 1}', 'null'])
def test_a_mark_that_cannot_be_read_is_none(text):
    made = server()
    made.system_metadata[eviction.MARK] = text
    assert eviction.mark_of(made) is None


def test_it_is_started_when_its_time_is_over():
    assert due(server()) is START
    assert due(server(), now_s=MARK.until_s - 1) is NOTHING


def test_a_time_that_a_wrong_clock_has_written_is_over():
    assert due(server(), now_s=MARK.until_s - closing.LONGEST_S) is NOTHING
    assert due(server(), now_s=MARK.until_s - closing.LONGEST_S - 120) is START


def test_one_that_is_locked_waits():
    assert due(server(locked=True)) is NOTHING


def test_one_that_went_elsewhere_is_forgotten_at_once():
    assert due(server(), OTHER_NODE, 0) is FORGET


def test_nothing_but_a_stopped_server_is_ever_started():
    for state, task, node, now_s, locked in itertools.product(
            ('active', 'stopped', 'paused', 'suspended', 'resized', 'rescued', 'error',
             'shelved', 'shelved_offloaded', 'soft-delete', 'deleted', 'building'),
            (None, 'powering-off', 'deleting', 'rebuilding'), (NODE, OTHER_NODE),
            (MARK.until_s - 1, MARK.until_s), (True, False)):
        found = due(server(state, task, locked), node, now_s)
        assert (found is START) == (
            state == 'stopped' and task is None and node == NODE
            and now_s == MARK.until_s and not locked)
        if task is not None:
            assert found is NOTHING


@pytest.mark.parametrize(('action', 'over', 'request_id', 'taken'), [
    ('start', 1, 'theirs', True), ('stop', 1, 'theirs', True), ('rebuild', 1, 'theirs', True),
    ('live-migration', 1, 'theirs', True), ('shelve', 1, 'theirs', True),
    ('stop', 1, MARK.request, False), ('stop', 0, 'theirs', False),
    ('rt_loan', 1, 'theirs', False), ('lock', 1, 'theirs', False),
    ('createImage', 1, 'theirs', False), ('attach_share', 1, 'theirs', False),
    ('changePassword', 1, 'theirs', False), ('resetState', 1, 'theirs', False)])
def test_what_its_user_does_with_it_later_counts(action, over, request_id, taken):
    assert eviction.taken_over(MARK, [objects.InstanceAction(
        id=MARK.after + over, action=action, request_id=request_id)]) is taken
