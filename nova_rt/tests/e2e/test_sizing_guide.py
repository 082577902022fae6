# SPDX-License-Identifier: Apache-2.0
"""The guide from an SLO to a server, with the commands as it prints them."""

import json

import pytest

from demo import shell
from nova_rt.testing import documentation

GUIDE = 'doc/source/sizing/guide.rst'


@pytest.fixture(scope='module')
def commands():
    """The commands of the guide, each on one line."""
    return [each.text for each in documentation.commands(GUIDE)]


@pytest.fixture
def operator_client(stack):
    client = shell.Client(stack.environment('admin'), 'operator')
    yield client
    client.run('openstack flavor delete sip')


def the(commands, start):
    (command,) = (each for each in commands if each.startswith(start))
    return command


def test_the_command_that_is_planned_leads_to_a_server_that_holds_it(
        commands, operator_client, operator, user, kernel):
    (planned,) = json.loads(operator_client.run(
        the(commands, 'nova-rt-plan size --name sip') + ' -f json'))
    pasted = the(commands, 'openstack flavor create')
    assert planned['command'] == pasted

    operator_client.run(pasted)
    server = user.boot(operator.compute.find_flavor('sip').id)

    budget = kernel.read(user.container(server.id).group)
    assert budget.period_us == planned['period_us']
    assert planned['runtime_us'] in budget.runtimes_us
