# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt import bandwidth
from nova_rt.audit import collect
from nova_rt.tests.unit.instance import servers

PCPUS = {'rt_pcpus': '3'}
SIDES = {'old_rt_pcpus': '3', 'new_rt_pcpus': 'c'}


def share(percent):
    """Return the share of two vCPUs."""
    return 2 * bandwidth.to_bandwidth(percent, 100)


def verdict(server):
    """Return what the audit expects: held and running percents, claim, Placement."""
    return ([holding.reservation.runtime_us // 1000
             for holding in server.holdings],
            server.runs and server.runs.reservation.runtime_us // 1000,
            server.lacks_claim, server.allocations)


# What a server that is not moved is like, and what the audit expects of it.
SETTLED = {
    'runs': (PCPUS, [30], 30, False, {servers.UUID: share(30)}),
    'is stopped': (
        {**PCPUS, 'vm_state': 'stopped', 'power_state': 4},
        [30], None, False, {servers.UUID: share(30)}),
    'is being stopped': (
        {**PCPUS, 'task_state': 'powering-off'}, [30], None, False, None),
    'is rescued': (
        {**PCPUS, 'vm_state': 'rescued'},
        [30], 30, False, {servers.UUID: share(30)}),
    'is being built': (
        {**PCPUS, 'vm_state': 'building', 'task_state': 'spawning'},
        [30], None, False, None),
    'was left while it was built': (
        {'vm_state': 'building'}, [], None, False, None),
    'has no claim': ({}, [], None, True, {servers.UUID: 0}),
    'has no claim yet': (
        {'task_state': 'rebuilding'}, [], None, False, None),
    'has no reservation': (
        {'percent': None}, [], None, False, {servers.UUID: 0}),
    'asks for an invalid one': (
        {'percent': 200}, [], None, False, {servers.UUID: 0}),
    'was deleted': (
        {**PCPUS, 'vm_state': 'deleted'}, [], None, False, {servers.UUID: 0}),
    'is shelved and gone': (
        {**PCPUS, 'vm_state': 'shelved_offloaded'},
        [], None, False, {servers.UUID: 0}),
}


@pytest.mark.parametrize('case', SETTLED)
def test_what_is_expected_of_a_server_that(case):
    values, *expected = SETTLED[case]
    server = collect.settled(servers.server(**values))
    assert list(verdict(server)) == expected


# What a server is like while it moves from where to where, and what the audit
# expects of it on HERE.
HERE, THERE = servers.HERE, servers.THERE
RESIZED = {**PCPUS, **SIDES, 'vm_state': 'resized', 'old': 30, 'new': 50}
MOVING = {
    'was resized away': (
        {**RESIZED, 'place': THERE}, (HERE, THERE),
        [30], None, False, {servers.MOVE: share(30)}),
    'was resized to here': (
        {**RESIZED, 'percent': 50, 'switched': True}, (THERE, HERE),
        [50], 50, False, {servers.UUID: share(50)}),
    'was resized within the host': (
        {**RESIZED, 'percent': 50, 'switched': True}, (HERE, HERE),
        [50, 30], 50, False,
        {servers.MOVE: share(30), servers.UUID: share(50)}),
    'grew in place': (
        {**RESIZED, 'percent': 50, 'rt_in_place': 'resize'}, (HERE, HERE),
        [50], 50, False, {servers.UUID: share(50), servers.MOVE: 0}),
    'shrank in place': (
        {**RESIZED, 'percent': 10, 'new': 10, 'rt_in_place': 'resize'},
        (HERE, HERE), [30], 10, False,
        {servers.UUID: share(10), servers.MOVE: share(30) - share(10)}),
    'is on its way': (
        {**RESIZED, 'vm_state': 'active', 'task_state': 'resize_migrating'},
        (HERE, THERE), [30], None, False, None),
}


@pytest.mark.parametrize('case', MOVING)
def test_what_is_expected_of_a_server_that_moves_and(case):
    values, (source, destination), *expected = MOVING[case]
    server = collect.moving(
        servers.server(moved=True, **values),
        servers.migration(source, destination), HERE)
    assert list(verdict(server)) == expected


def test_a_flavor_without_its_share_is_noticed():
    server = servers.server(**PCPUS)
    assert collect.settled(server).flavor_silent
    server.flavor.extra_specs['resources:CUSTOM_RT_SHARE'] = str(share(30))
    assert not collect.settled(server).flavor_silent
