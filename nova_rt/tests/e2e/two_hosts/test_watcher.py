# SPDX-License-Identifier: Apache-2.0
"""Watcher's own services make room on a host by a real live migration to the other."""

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import optimizer
from nova_rt.tests.e2e.cloud_of_machines import machine_user

pytestmark = full.only


@pytest.fixture(scope='module')
def watcher(stack):
    """Watcher, as ``up --with optimizer`` starts it."""
    with optimizer.running(stack) as watcher:
        yield watcher


@pytest.fixture
def servers(user, operator, hosts):
    """Two servers that do nothing, with 45% of a pCPU on a host each."""
    with machine_user.idle(operator) as user.image:
        yield lambda flavor: [user.boot(flavor).id for _ in range(2)]
        user.delete_all()


def test_nothing_is_migrated_unless_the_audit_allows_it(watcher, user, flavors, hosts, servers):
    both = servers(flavors(90_000))
    assert {hosts.of(server) for server in both} == {1, 2}
    large = flavors(120_000)
    audit = watcher.audit(flavor=large)
    assert audit['state'] == 'FAILED'
    # It goes on to say whether that is certain, which a busy machine may not find out in time.
    assert audit['status_message'].startswith('No plan of at most 8 moves ')

    plan = watcher.plan(flavor=large, between_hosts=True)
    action, = watcher.actions(plan)
    assert action['action_type'] == 'nova_rt_migrate'
    server = action['input_parameters']['resource_id']
    here = hosts.of(server)
    assert watcher.carry_out(plan)['state'] == 'SUCCEEDED', watcher.actions(plan)
    # The action is over when the source has given back what the server held there.
    assert hosts.of(server) == 3 - here
    assert {hosts.of(each) for each in both} == {3 - here}
    assert hosts.of(user.boot(large).id) == here
    hosts.assert_agreed()


def test_a_server_that_is_locked_meanwhile_stays_and_the_action_says_so(
        watcher, user, flavors, hosts, servers):
    both = servers(flavors(90_000))
    plan = watcher.plan(flavor=flavors(120_000), between_hosts=True)
    action, = watcher.actions(plan)
    server = action['input_parameters']['resource_id']
    before = [hosts.of(each) for each in both]
    user.cloud.compute.lock_server(server)
    assert watcher.carry_out(plan)['state'] == 'FAILED'
    action, = watcher.actions(plan)
    assert 'locked' in action['status_message']
    assert [hosts.of(each) for each in both] == before
    user.cloud.compute.unlock_server(server)
