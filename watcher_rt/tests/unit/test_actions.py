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
    move.execute()
    move.revert()
    assert proxy.moved == [(ONE, 0, 3), (ONE, 3, 0)]


def test_a_move_that_was_refused_is_not_reverted_wherever_the_vcpu_is(move, proxy):
    proxy.refuse[1] = simulated.refused(409, 'No.')
    with pytest.raises(api.RefusedError):
        move.execute()
    proxy.where[ONE] = [3]
    move.revert()
    assert proxy.moved == []


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
    with mock.patch('watcher.applier.actions.migration.nova_helper.NovaHelper') as made:
        yield made.return_value


@pytest.fixture
def migrated(proxy, monkeypatch):
    """Has a migration go through such states, or not answer; returns what the API was asked."""
    monkeypatch.setattr('watcher_rt.migrate.INTERVAL_S', 0)

    def migrate(*states):
        proxy.migrate_server = mock.Mock(return_value=SimpleNamespace(under_way=True))
        proxy.get_migration = mock.Mock(side_effect=states)
        assert loaded('nova_rt_migrate', MIGRATION).execute() is True
        return proxy
    return migrate


def going(host, under_way=True, status='running', reason=''):
    return SimpleNamespace(host=host, under_way=under_way, status=status, reason=reason)


def test_a_migration_is_over_when_its_source_has_given_all_back(migrated):
    down = simulated.refused(503, 'No answer.')
    proxy = migrated(going('node-1'), down, going('node-2'), down, going('node-2', False))
    proxy.migrate_server.assert_called_once_with(ONE, 'node-1', 'node-2')
    assert proxy.get_migration.call_count == 5


@pytest.mark.parametrize(('reason', 'status', 'sentence'), [
    ('node-2 has no room for it.', 'error', 'node-2 has no room for it.'),
    ('', 'error', f'Server {ONE} is on node-1, and its migration is error.'),
    ('', None, f'Server {ONE} is on node-1, and its migration is not to be found.')])
def test_a_migration_that_fails_says_why(migrated, reason, status, sentence):
    with pytest.raises(api.RefusedError) as refused:
        migrated(going('node-1', False, status, reason))
    assert str(refused.value) == sentence


def test_a_migration_of_which_nothing_is_heard_may_be_under_way(migrated):
    with pytest.raises(api.UndecidedError, match='may be under way still'):
        migrated(*[simulated.refused(503, 'No answer.')] * 31)


def test_a_server_that_has_left_fails_its_migration(nova):
    nova.find_instance.return_value.host = 'node-9'
    with pytest.raises(api.RefusedError, match='not running on source node'):
        loaded('nova_rt_migrate', MIGRATION).pre_condition()


def test_a_migration_waits_for_the_step_before_it(nova):
    action = loaded('nova_rt_migrate', {**MIGRATION, 'after': 'u'})
    before = SimpleNamespace(uuid='u', state='FAILED')
    with mock.patch('watcher.objects.Action', create=True) as actions:
        actions.get_by_uuid.return_value = before
        with pytest.raises(exception.ActionSkipped, match='the step before it'):
            action.pre_condition()
    nova.find_instance.assert_not_called()
