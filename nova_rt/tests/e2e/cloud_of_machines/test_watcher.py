# SPDX-License-Identifier: Apache-2.0
"""Watcher's own services make room on a host: real vCPUs move, and a server fits."""

import json
import os
import subprocess
import time

import psutil
import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import optimizer
from nova_rt.tests.e2e.cloud_of_machines import machine_user

pytestmark = full.only


@pytest.fixture(scope='module')
def watcher(stack):
    """Watcher, as ``up --with optimizer`` starts it."""
    with optimizer.running(stack) as watcher:
        yield watcher


@pytest.fixture(scope='module')
def idle(operator):
    """The name of a disk whose virtual machines do nothing."""
    with machine_user.idle(operator) as name:
        yield name


@pytest.fixture
def user(user, idle):
    """An ordinary user, whose servers do nothing."""
    user.image = idle
    return user


@pytest.fixture
def compute(stack):
    """Stops nova-rt-compute for a while, and lets it go on."""
    processes = [psutil.Process(pid) for pid in stack.site.processes.members(['nova-compute'])]

    def let(it):
        for process in processes:
            getattr(process, it)()
    yield let
    let('resume')


@pytest.fixture
def fragmented(user, flavors):
    """Servers with 45% of the first pCPU, and 20, 20 and 15% of the second."""
    servers = [user.boot(flavors(runtime)) for runtime in (90_000, 40_000, 40_000, 30_000)]
    where = [{**user.machine(server.id).shares} for server in servers]
    assert where == [{0: 0.45}, {1: 0.2}, {1: 0.2}, {1: 0.15}]
    return [server.id for server in servers]


def states(watcher, plan):
    return [action['state'] for action in watcher.actions(plan)]


def settled(user, servers):
    """Return what the vCPUs of servers have, None while one is being moved."""
    if any(user.show(server).task_state for server in servers):
        return None
    return [user.machine(server).shares for server in servers]


def test_an_audit_a_plan_and_then_the_server_fits(watcher, user, flavors, fragmented):
    large = flavors(160_000)
    user.settled(user.ask(large).id, 'ERROR')
    plan = watcher.plan(flavor=large)
    assert {each['name']: each['value'] for each in plan['efficacy_indicators']} == {
        'moves': 2, 'migrations': 0, 'room_before': pytest.approx(50, abs=0.1),
        'room_after': pytest.approx(80, abs=0.1)}
    assert watcher.carry_out(plan)['state'] == 'SUCCEEDED', watcher.actions(plan)
    assert states(watcher, plan) == ['SUCCEEDED'] * 2
    moved = {action['input_parameters']['resource_id']: action['input_parameters']['target']
             for action in watcher.actions(plan)}
    shares = {server: user.machine(server).shares for server in fragmented}
    assert all(pcpu in shares[server] for server, pcpu in moved.items())
    assert [*map(len, shares.values())] == [1] * 4
    assert [*user.machine(user.boot(large).id).shares.values()] == [0.8]

    audit = watcher.audit(flavor=flavors(10_000))
    assert (audit['state'], audit['status_message']) == (
        'SUCCEEDED', 'There is room already, so nothing need be moved.')


def test_an_operator_types_an_audit(stack, watcher, user, flavors, fragmented):
    done = subprocess.run(
        [stack.site.script('openstack'), 'optimize', 'audit', 'create', '-g', 'nova_rt_room',
         '-s', 'nova_rt_moves', '-p', f'flavor={flavors(160_000)}', '-p', 'max_moves=1',
         '-p', 'between_hosts=false', '-f', 'json'],
        env={**os.environ, **stack.environment('admin')}, capture_output=True, text=True,
        timeout=driver.PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    audit = watcher.audited(json.loads(done.stdout)['UUID'])
    assert audit['state'] == 'FAILED'
    assert audit['status_message'].startswith('No plan of at most 1 move ')


def test_a_refused_move_fails_the_plan_with_a_sentence_and_ends_it(
        watcher, user, flavors, fragmented):
    plan = watcher.plan(flavor=flavors(160_000))
    # Now neither pCPU has room for the plan's last move.
    for _ in range(2):
        user.boot(flavors(50_000))
    assert watcher.carry_out(plan)['state'] == 'FAILED'
    said = {action['state']: action['status_message'] for action in watcher.actions(plan)}
    assert 'Action failed in execute: The server stays as it was: ' in said['FAILED']
    assert [*map(len, (user.machine(server).shares for server in fragmented))] == [1] * 4


def test_an_applier_that_is_killed_loses_nothing(watcher, user, flavors, fragmented, compute):
    large = flavors(160_000)
    plan = watcher.plan(flavor=large)
    compute('suspend')
    watcher.start(plan)
    driver.until(lambda: 'ONGOING' in states(watcher, plan), 'a move begins')
    # Watcher says so a moment before it asks for the move.
    time.sleep(3)
    watcher.kill_applier()
    compute('resume')
    watcher.start_applier()
    ended = watcher.ended(plan)
    assert ended['state'] == 'CANCELLED'
    assert 'was stopped while the action plan was ongoing' in ended['status_message']

    shares = driver.until(lambda: settled(user, fragmented), 'the move is over')
    assert [share for each in shares for share in each.values()] == [0.45, 0.2, 0.2, 0.15]
    # The move was asked for, so it was made.
    assert shares != [{0: 0.45}, {1: 0.2}, {1: 0.2}, {1: 0.15}]
    assert watcher.carry_out(watcher.plan(flavor=large))['state'] == 'SUCCEEDED'
    user.boot(large)


@pytest.mark.parametrize(('parameters', 'sentence'), [
    ({'flavor': 'gold'}, "There is no flavor 'gold': give an id or name that"),
    ({'host': 'nowhere'}, "There is no host 'nowhere': give the name that"),
    ({'between_hosts': True}, 'between_hosts is for a flavor: hosts are balanced one by one.'),
])
def test_what_cannot_be_planned_fails_the_audit_with_a_sentence(watcher, parameters, sentence):
    audit = watcher.audit(**parameters)
    assert audit['state'] == 'FAILED'
    assert audit['status_message'].startswith(sentence)


@pytest.mark.parametrize('parameters', [{'max_moves': 0}, {'flavour': 'rt'}, {'flavor': 7}])
def test_watcher_refuses_what_is_no_parameter(watcher, parameters):
    assert watcher.ask_audit(**parameters).status_code == 400
