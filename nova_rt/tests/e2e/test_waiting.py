# SPDX-License-Identifier: Apache-2.0
"""A server waits for room on a real OpenStack, whose conductor is killed meanwhile."""

import os
import signal

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import nova_options

CONDUCTOR = 'nova-conductor'


@pytest.fixture
def patient(stack):
    """Have new servers wait for room."""
    with nova_options.of(stack, CONDUCTOR, 'wait_for_room = 600'):
        yield


def test_a_server_waits_for_room_though_the_conductor_is_killed(
        stack, user, operator, flavors, kernel, patient):
    first = user.boot(flavors(120_000, vcpus=2))
    second = user.ask(flavors(100_000, vcpus=2))
    driver.until(lambda: [each['server'] for each in waiting(operator)] == [second.id],
                 'it waits')
    entry, = waiting(operator)
    assert '35% left and lacks 15%' in entry['reason']
    for pid in stack.site.processes.members([CONDUCTOR]):
        os.kill(pid, signal.SIGKILL)
    assert user.show(second.id).status == 'BUILD'
    # Nothing is deleted without a conductor.
    stack.restart(CONDUCTOR)
    user.delete(first.id)
    user.settled(second.id, 'ACTIVE')
    assert waiting(operator) == []
    user.delete(second.id)
    driver.until(lambda: driver.nothing_held(kernel), 'all is given back')


def waiting(operator):
    """Return who waits, as nova-rt's API tells it."""
    answer = operator.session.get(
        '/waiting', endpoint_filter={'service_type': 'rt'},
        headers={'OpenStack-API-Version': 'rt 1.6'})
    return answer.json()['waiting']
