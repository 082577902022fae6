# SPDX-License-Identifier: Apache-2.0
"""Plans in Watcher's own database, carried out by its own engine; the API is a stand-in."""

from types import SimpleNamespace
from unittest import mock

import pytest
from watcher import notifications
from watcher import objects
from watcher.applier.workflow_engine import default as workflow
from watcher.decision_engine.loading import default as loading
from watcher.tests.unit.objects import utils as records

from watcher_rt.tests.unit import simulated

ONE, TWO = simulated.SERVERS
# Each needs the one before it.
STEPS = ((ONE, 0, 3), (TWO, 1, 0), (TWO, 2, 1))


class Plan:
    """A plan of three moves."""

    def __init__(self, context):
        self._context = context
        goal = records.create_test_goal(context, name='nova_rt_room')
        strategy = records.create_test_strategy(context, name='nova_rt_moves', goal_id=goal.id)
        audit = records.create_test_audit(
            context, goal_id=goal.id, strategy_id=strategy.id, interval=None)
        solution = SimpleNamespace(
            strategy=strategy, global_efficacy=[], efficacy_indicators=[], actions=[
                {'action_type': 'nova_rt_move', 'input_parameters': {
                    'resource_id': server, 'resource_name': 'web', 'host': 'node-1',
                    'source': source, 'target': target, 'step': number}}
                for number, (server, source, target) in enumerate(STEPS, 1)])
        self._uuid = loading.DefaultPlannerLoader().load('nova_rt_in_order').schedule(
            context, audit.id, solution).uuid

    @property
    def actions(self):
        """The actions, in their order."""
        return sorted(
            objects.Action.list(
                self._context, filters={'action_plan_uuid': self._uuid}, eager=True),
            key=lambda action: action.input_parameters['step'])

    def carry_out(self):
        """Carry it out; return what became of each action, and why."""
        workflow.DefaultWorkFlowEngine(
            mock.Mock(max_workers=2, action_execution_rule={}), self._context,
            mock.MagicMock()).execute(self.actions)
        return [(action.state, action.status_message) for action in self.actions]


@pytest.fixture
def plan(database, proxy):
    with (mock.patch.multiple(
            notifications.action, send_create=mock.DEFAULT, send_update=mock.DEFAULT,
            send_execution_notification=mock.DEFAULT),
          mock.patch.multiple(notifications.action_plan, send_create=mock.DEFAULT)):
        yield Plan(database)


def test_each_action_is_after_the_one_before_it(plan):
    one, two, three = plan.actions
    assert [action.parents for action in (one, two, three)] == [[], [one.uuid], [two.uuid]]
    assert [action.input_parameters.get('after') for action in (one, two, three)] == [
        None, one.uuid, two.uuid]


def test_moves_are_made_in_their_order(plan, proxy):
    assert plan.carry_out() == [('SUCCEEDED', None)] * 3
    assert proxy.moved == [*STEPS]


def test_what_follows_a_refused_move_is_skipped(plan, proxy):
    proxy.refuse[2] = simulated.refused(409, '40% is needed on pCPU 0')
    made, refused, skipped = plan.carry_out()
    assert made == ('SUCCEEDED', None)
    assert refused == ('FAILED', 'Action failed in execute: 40% is needed on pCPU 0.')
    assert skipped == (
        'SKIPPED', f'Action was skipped automatically: the step before it, {plan.actions[1].uuid}'
        ', was not made (FAILED). Start another audit to go on with a new plan.')
    assert proxy.moved == [STEPS[0]]


def test_a_move_whose_end_is_not_known_is_one_sentence(plan, proxy):
    proxy.refuse[1] = simulated.refused(503, 'node-1 does not answer.')
    assert plan.carry_out()[0] == (
        'FAILED', 'Action failed in execute: Whether the vCPU was moved is not known. node-1 '
        'does not answer. Start another audit, which plans from what is there.')


def test_a_server_that_is_elsewhere_is_not_moved(plan, proxy):
    proxy.where[ONE] = [2]
    (state, why), *rest = plan.carry_out()
    assert state == 'SKIPPED'
    assert f'server {ONE} is not as planned: it is on pCPUs 2.' in why
    assert [state for state, _ in rest] == ['SKIPPED'] * 2
    assert proxy.moved == []


def test_a_server_that_is_gone_is_not_moved(plan, proxy):
    del proxy.where[ONE]
    state, why = plan.carry_out()[0]
    assert state == 'SKIPPED'
    assert f'server {ONE} holds nothing on node-1 any more.' in why


def test_what_follows_a_move_that_the_operator_skips_is_skipped(plan, proxy):
    first = plan.actions[0]
    first.state = objects.action.State.SKIPPED
    first.save()
    assert [state for state, _ in plan.carry_out()] == ['SKIPPED'] * 3
    assert proxy.moved == []


def test_a_server_that_goes_elsewhere_at_once_is_told(plan, proxy):
    made = proxy.move_vcpu

    def snatched(host, server, source, target):
        made(host, server, source, target)
        proxy.where[server] = [9]
    proxy.move_vcpu = snatched
    state, why = plan.carry_out()[0]
    assert state == 'FAILED'
    assert 'has gone elsewhere since' in why
