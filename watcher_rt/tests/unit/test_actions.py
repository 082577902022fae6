# SPDX-License-Identifier: Apache-2.0
"""One action by itself, as Watcher's applier loads it."""

from types import SimpleNamespace
from unittest import mock

import jsonschema
import pytest
from watcher.applier.loading import default
from watcher.common import exception

from watcher_rt import api
from watcher_rt.tests.unit import simulated

ONE, _ = simulated.SERVERS
MOVE = {'resource_id': ONE, 'host': 'node-1', 'source': 0, 'target': 3}
MIGRATION = {'resource_id': ONE, 'migration_type': 'live', 'source_node': 'node-1',
             'destination_node': 'node-2', 'resource_name': 'web', 'step': 1}


@pytest.fixture
def move(proxy):
    return loaded('nova_rt_move', MOVE)


def loaded(kind, inputs):
    action = default.DefaultActionLoader().load(kind, osc=None)
    action.input_parameters = inputs
    return action


def test_a_move_is_reverted_if_it_was_made(move, proxy):
    move.revert()
    assert proxy.moved == []
    move.execute()
    move.revert()
    assert proxy.moved == [(ONE, 0, 3), (ONE, 3, 0)]


def test_a_move_cannot_be_aborted_once_it_was_made(move):
    assert move.abort()
    move.execute()
    assert not move.abort()


@pytest.mark.parametrize('wrong', [
    {'source': '0'}, {'target': -1}, {'host': ''}, {'more': 1}, {'step': 'first'}])
def test_what_a_move_says_is_checked(wrong):
    assert loaded('nova_rt_move', MOVE).validate_parameters()
    with pytest.raises(jsonschema.ValidationError):
        loaded('nova_rt_move', {**MOVE, **wrong}).validate_parameters()


@pytest.mark.parametrize('wrong', [{'source_node': 7}, {'more': 1}, {'step': 'first'}])
def test_what_a_migration_says_is_checked(wrong):
    assert loaded('nova_rt_migrate', MIGRATION).validate_parameters()
    with pytest.raises(jsonschema.ValidationError):
        loaded('nova_rt_migrate', {**MIGRATION, **wrong}).validate_parameters()


@pytest.fixture
def nova():
    """Stands in for Watcher's own client of Nova's."""
    with mock.patch('watcher.common.nova_helper.NovaHelper') as made:
        yield made.return_value


def test_watcher_itself_migrates(nova, proxy):
    nova.live_migrate_instance.return_value = True
    assert loaded('nova_rt_migrate', MIGRATION).execute() is True
    nova.live_migrate_instance.assert_called_once_with(
        instance_id=ONE, dest_hostname='node-2')


@pytest.mark.parametrize(('progress', 'sentence'), [
    ({'host': 'node-1', 'status': 'error', 'reason': 'node-2 has no room for it.'},
     'node-2 has no room for it.'),
    ({'host': 'node-1', 'status': 'error', 'reason': ''},
     f'Server {ONE} is on node-1, and its migration is error.'),
    ({'host': 'node-1', 'status': None, 'reason': ''},
     f'Server {ONE} is on node-1, and its migration is not to be found.')])
def test_a_migration_that_fails_says_why(nova, proxy, progress, sentence):
    nova.live_migrate_instance.return_value = False
    proxy.get_migration = lambda server: SimpleNamespace(**progress)
    with pytest.raises(api.RefusedError) as refused:
        loaded('nova_rt_migrate', MIGRATION).execute()
    assert str(refused.value) == sentence


def test_a_migration_waits_for_the_step_before_it(nova):
    action = loaded('nova_rt_migrate', {**MIGRATION, 'after': 'u'})
    before = SimpleNamespace(uuid='u', state='FAILED')
    with mock.patch('watcher.objects.Action', create=True) as actions:
        actions.get_by_uuid.return_value = before
        with pytest.raises(exception.ActionSkipped, match='the step before it'):
            action.pre_condition()
    nova.find_instance.assert_not_called()
