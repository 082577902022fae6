# SPDX-License-Identifier: Apache-2.0
"""What an audit asks nova-rt's API for, and what becomes of the plan."""

from types import SimpleNamespace
from unittest import mock

import jsonschema
from keystoneauth1 import exceptions as keystone
import pytest
from watcher.common import utils
from watcher.objects import audit as audits

from watcher_rt import api
from watcher_rt import strategy
from watcher_rt.tests.unit import simulated

ONE, TWO = simulated.SERVERS
MOVE = {**simulated.move(ONE, 0, 2), 'step': 'move', 'host': 'node-1', 'target_host': None}
MIGRATION = {**simulated.move(TWO, None, None), 'step': 'migration', 'host': 'node-1',
             'target_host': 'node-2', 'memory_mb': 64}


@pytest.fixture
def proxy(proxy):
    proxy.room = {
        'reservation': {'vcpus': 2}, 'host': 'node-1', 'steps': [MOVE, MIGRATION],
        'proof': 'No plan costs less.', 'hosts': [
            {'host': 'node-1', 'pcpus': [
                simulated.pcpu(0, 95, 95), simulated.pcpu(1, 55, 95), simulated.pcpu(2, 55, 15)]},
            {'host': 'node-2', 'pcpus': [simulated.pcpu(0, 99, 1)]}]}
    return proxy


@pytest.fixture
def audit():
    return mock.Mock(audit_type=audits.AuditType.ONESHOT.value, status_message=None)


@pytest.fixture
def carried_out(audit):
    """Carries out the strategy, and returns what it finds."""
    def carry_out(scope=(), **parameters):
        found = strategy.Moves(utils.Struct())
        found.audit_scope = list(scope)
        found.input_parameters = utils.Struct(parameters)
        return found.execute(audit)
    return carry_out


def test_a_plan_becomes_actions_in_its_order(proxy, carried_out, audit):
    solution = carried_out(flavor='rt', between_hosts=True)
    assert solution.actions == [
        {'action_type': 'nova_rt_move', 'input_parameters': {
            'resource_id': ONE, 'resource_name': 'server-1', 'host': 'node-1', 'source': 0,
            'target': 2, 'step': 1}},
        {'action_type': 'nova_rt_migrate', 'input_parameters': {
            'resource_id': TWO, 'resource_name': 'server-2', 'migration_type': 'live',
            'source_node': 'node-1', 'destination_node': 'node-2', 'step': 2}}]
    assert audit.status_message == 'No plan costs less.'
    assert solution.strategy.planner == 'nova_rt_in_order'


def test_room_is_what_each_vcpu_of_the_flavor_could_have(proxy, carried_out):
    solution = carried_out(flavor='rt', between_hosts=True)
    assert {each.name: each.value for each in solution.efficacy_indicators} == {
        'moves': 1, 'migrations': 1, 'room_before': 55.0, 'room_after': 95.0}
    gained, = solution.global_efficacy
    assert (gained.name, gained.value) == ('room_gained', 40.0)


@pytest.mark.parametrize(('said', 'asked'), [
    ({'flavor': 'rt'}, ('rt', None, None, None, 0, None)),
    ({'flavor': 'rt', 'between_hosts': False}, ('rt', None, None, None, 0, None)),
    ({'flavor': 'rt', 'between_hosts': True}, ('rt', None, None, None, None, None)),
    ({'flavor': 'rt', 'hints': {'a': '1'}, 'host': 'node-1', 'max_moves': 3, 'seconds': 5,
      'between_hosts': True, 'max_migrations': 2}, ('rt', {'a': '1'}, 'node-1', 3, 2, 5)),
])
def test_nothing_is_migrated_unless_it_is_allowed(proxy, carried_out, said, asked):
    carried_out(**said)
    assert proxy.asked == [asked]


def test_hosts_are_balanced_one_by_one_up_to_so_many_moves(proxy, carried_out, audit):
    proxy.balances = {
        'node-1': [simulated.move(ONE, 0, 1)],
        'fixed': simulated.refused(409, 'fixed moves no vCPUs.'),
        'gone': simulated.refused(404, 'There is no host gone.'),
        'node-2': [simulated.move(TWO, 0, 1), simulated.move(TWO, 2, 3)],
        'node-3': [simulated.move(ONE, 0, 1)]}
    solution = carried_out(max_moves=3)
    assert proxy.asked == [('node-1', 3), ('fixed', 2), ('gone', 2), ('node-2', 2)]
    assert [each['input_parameters']['host'] for each in solution.actions] == [
        'node-1', 'node-2', 'node-2']
    assert {each.name: each.value for each in solution.efficacy_indicators} == {
        'moves': 3, 'migrations': 0, 'room_before': -10.0, 'room_after': 40.0}
    assert audit.status_message == 'As many moves as allowed; 1 host could not be looked at.'


def test_a_host_that_is_balanced_gets_no_actions_and_keeps_its_numbers(
        proxy, carried_out, audit):
    proxy.balances = {'node-1': []}
    solution = carried_out(host='node-1')
    assert solution.actions == []
    assert {each.name: each.value for each in solution.efficacy_indicators} == {
        'moves': 0, 'migrations': 0, 'room_before': -10.0, 'room_after': 40.0}
    assert audit.status_message == 'No better moves were found; there may be some.'


def test_hosts_of_which_none_can_be_balanced_fail_the_audit(proxy, carried_out, audit):
    proxy.balances = {'fixed': simulated.refused(409, 'fixed moves no vCPUs.')}
    with pytest.raises(api.RefusedError):
        carried_out()
    assert audit.status_message == 'fixed moves no vCPUs.'


@pytest.mark.parametrize(('said', 'sentence'), [
    ({'between_hosts': True}, 'between_hosts is for a flavor: hosts are balanced one by one.'),
    ({'hints': {'a': '1'}}, 'hints are for a flavor: give one, or no hints.'),
    ({'seconds': 2}, 'seconds are for a flavor: a balance takes none.'),
    ({'flavor': 'rt', 'max_migrations': 2},
     'max_migrations is for between_hosts: without that, nothing is migrated.'),
    ({'scope': [{'compute': []}]},
     'This strategy takes no scope: name one host by the parameter host, or none.'),
])
def test_what_does_not_go_together_fails_the_audit_with_a_sentence(
        proxy, carried_out, audit, said, sentence):
    audit.audit_type = audits.AuditType.CONTINUOUS.value
    with pytest.raises(api.RefusedError, match=sentence):
        carried_out(**said)
    assert audit.status_message == sentence
    audit.save.assert_called_once_with()
    assert proxy.asked == []


@pytest.mark.parametrize(('raised', 'sentence'), [
    (simulated.refused(404, "There is no flavor 'rt': give an id."),
     "There is no flavor 'rt': give an id."),
    (simulated.refused(503, 'A cell does not answer'), 'A cell does not answer.'),
    (keystone.ConnectFailure('x' * 300), 'The API of nova-rt does not answer (ConnectFailure).'),
    (keystone.EndpointNotFound('no endpoint for rt'),
     'nova-rt cannot be asked with what [nova] says: no endpoint for rt.'),
    (keystone.Unauthorized('wrong password'),
     'nova-rt cannot be asked with what [nova] says: wrong password (HTTP 401).'),
    (simulated.refused(409, 'x' * 300), f'{"x" * 197}...'),
])
def test_a_refusal_of_the_api_is_the_audits_sentence(proxy, carried_out, audit, raised, sentence):
    proxy.room = raised
    with pytest.raises((api.RefusedError, api.UndecidedError)):
        carried_out(flavor='rt')
    assert audit.status_message == sentence


def test_a_continuous_audit_goes_on_when_there_is_no_plan_yet(proxy, carried_out, audit):
    audit.audit_type = audits.AuditType.CONTINUOUS.value
    proxy.room = simulated.refused(409, 'No plan of at most 8 moves makes this room.')
    solution = carried_out(flavor='rt')
    assert solution.actions == []
    assert solution.efficacy_indicators == []
    assert audit.status_message == 'No plan of at most 8 moves makes this room.'


@pytest.mark.parametrize('wrong', [
    {'flavor': 7}, {'flavor': ''}, {'host': 'x' * 256}, {'hints': ['a']}, {'max_moves': 0},
    {'max_moves': 33}, {'between_hosts': 'yes'}, {'max_migrations': 0}, {'seconds': 11}])
def test_watchers_api_refuses_what_is_no_parameter(wrong):
    validator = utils.StrictDefaultValidatingDraft4Validator(strategy.Moves.get_schema())
    validator.validate({'flavor': 'rt', 'max_moves': 4})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(wrong)


def test_the_strategy_is_loaded_by_watcher_with_its_goal():
    from watcher.decision_engine.loading import default
    found = default.DefaultStrategyLoader().load('nova_rt_moves', osc=SimpleNamespace())
    assert found.goal.name == 'nova_rt_room'
    assert default.DefaultPlannerLoader().load(found.planner).config == {}
