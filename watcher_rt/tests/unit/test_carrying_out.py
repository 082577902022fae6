# SPDX-License-Identifier: Apache-2.0
"""Plans in Watcher's own database, carried out by its own engine; the API is a stand-in."""

from types import SimpleNamespace
from unittest import mock

import pytest
from watcher import notifications
from watcher import objects
from watcher.applier.action_plan import default as handler
from watcher.decision_engine.loading import default as loading
from watcher.tests.unit.objects import utils as records

from watcher_rt.tests.unit import simulated

ONE, TWO = simulated.SERVERS
# Each needs the one before it.
STEPS = ((ONE, 0, 3, 'node-1'), (TWO, 1, 0, 'node-1'), (TWO, 2, 1, 'node-1'))
MOVES = [step[:3] for step in STEPS]


class Plan:
    """A plan of moves."""

    def __init__(self, context, steps):
        self._context = context
        goal = records.create_test_goal(context, name='nova_rt_room')
        strategy = records.create_test_strategy(context, name='nova_rt_moves', goal_id=goal.id)
        audit = records.create_test_audit(
            context, goal_id=goal.id, strategy_id=strategy.id, interval=None)
        solution = SimpleNamespace(
            strategy=strategy, global_efficacy=[], efficacy_indicators=[], actions=[
                {'action_type': 'nova_rt_move', 'input_parameters': {
                    'resource_id': server, 'resource_name': 'web', 'host': host,
                    'source': source, 'target': target, 'step': number}}
                for number, (server, source, target, host) in enumerate(steps, 1)])
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
        """Carry it out as the applier does; return what became of each action, and why."""
        handler.DefaultActionPlanHandler(
            self._context, mock.MagicMock(), self._uuid).execute()
        return [(action.state, action.status_message) for action in self.actions]

    @property
    def state(self):
        """What became of the plan itself."""
        return objects.ActionPlan.get_by_uuid(self._context, self._uuid).state


@pytest.fixture
def planned(database, proxy):
    """Makes a plan of steps."""
    with (mock.patch.multiple(
            notifications.action, send_create=mock.DEFAULT, send_update=mock.DEFAULT,
            send_execution_notification=mock.DEFAULT),
          mock.patch.multiple(
              notifications.action_plan, send_create=mock.DEFAULT, send_update=mock.DEFAULT,
              send_action_notification=mock.DEFAULT)):
        yield lambda steps=STEPS: Plan(database, steps)


@pytest.fixture
def plan(planned):
    return planned()


def test_each_action_is_after_the_one_before_it(plan):
    one, two, three = plan.actions
    assert [action.parents for action in (one, two, three)] == [[], [one.uuid], [two.uuid]]
    assert [action.input_parameters.get('after') for action in (one, two, three)] == [
        None, one.uuid, two.uuid]


def test_moves_are_made_in_their_order(plan, proxy):
    assert plan.carry_out() == [('SUCCEEDED', None)] * 3
    assert proxy.moved == MOVES
    assert plan.state == 'SUCCEEDED'


def test_what_follows_a_refused_move_is_skipped(plan, proxy):
    proxy.refuse[2] = simulated.refused(409, '40% is needed on pCPU 0')
    made, refused, skipped = plan.carry_out()
    assert made == ('SUCCEEDED', None)
    assert refused == ('FAILED', 'Action failed in execute: 40% is needed on pCPU 0.')
    assert skipped == (
        'SKIPPED', f'Action was skipped automatically: the step before it, {plan.actions[1].uuid}'
        ', was not made (FAILED). Start another audit to go on with a new plan.')
    assert proxy.moved == MOVES[:1]
    assert plan.state == 'FAILED'


def test_a_move_whose_end_is_not_known_is_one_sentence(plan, proxy):
    proxy.refuse[1] = simulated.refused(503, 'node-1 does not answer.')
    assert plan.carry_out()[0] == (
        'FAILED', 'Action failed in execute: Whether the vCPU was moved is not known: start '
        'another audit. node-1 does not answer.')


def test_a_server_that_is_elsewhere_is_not_moved(plan, proxy):
    proxy.where[ONE] = [2]
    (state, why), *rest = plan.carry_out()
    assert state == 'FAILED'
    assert why == (f'Action failed in pre_condition: Server {ONE} is not as planned: it is on '
                   'pCPUs 2.')
    assert [state for state, _ in rest] == ['SKIPPED'] * 2
    assert proxy.moved == []
    assert plan.state == 'FAILED'


def test_a_server_that_is_gone_is_not_moved(plan, proxy):
    del proxy.where[ONE]
    state, why = plan.carry_out()[0]
    assert state == 'FAILED'
    assert f'Server {ONE} holds nothing on node-1 any more.' in why


def test_what_follows_a_move_that_the_operator_skips_is_skipped(plan, proxy):
    first = plan.actions[0]
    first.state = objects.action.State.SKIPPED
    first.save()
    assert [state for state, _ in plan.carry_out()] == ['SKIPPED'] * 3
    assert proxy.moved == []


def test_a_refused_move_does_not_keep_another_host_from_its_moves(planned, proxy):
    plan = planned((*STEPS[:2], (ONE, 3, 1, 'node-2'), (TWO, 2, 3, 'node-1')))
    proxy.where[ONE] = [3]
    assert [state for state, _ in plan.carry_out()] == [
        'FAILED', 'SKIPPED', 'SUCCEEDED', 'SKIPPED']
    assert proxy.moved == [(ONE, 3, 1)]


def test_what_an_api_says_can_be_saved_however_long_it_is(plan, proxy):
    proxy.refuse[1] = simulated.refused(503, 'x' * 1000)
    (_, why), *_ = plan.carry_out()
    # MariaDB refuses more, and the action would be ONGOING for ever.
    assert len(why) <= 255
    assert why.startswith('Action failed in execute: Whether the vCPU was moved is not known:')
