# SPDX-License-Identifier: Apache-2.0
"""Servers on two nodes with our kernel."""

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver

pytestmark = full.only


@pytest.fixture(autouse=True)
def _two(nodes):
    if len(nodes) < 2:
        pytest.skip('the stack has one node only')


def test_a_server_too_large_for_the_first_lands_on_the_second(user, flavors):
    first = user.boot(flavors(120_000, vcpus=4), 'busybox-hog')
    second = user.boot(flavors(120_000, vcpus=4), 'busybox-hog')
    assert {user.host(first.id), user.host(second.id)} == {1, 2}
    refused = user.ask(flavors(120_000, vcpus=1)).id
    assert 'lacks' in user.settled(refused, 'ERROR').fault['message']


def test_a_server_is_migrated_with_its_reservation_and_disk(
        user, operator, flavors):
    server = user.boot(flavors(60_000), 'busybox-hog')
    origin = user.host(server.id)
    operator.compute.migrate_server(server.id)
    user.settled(server.id, 'VERIFY_RESIZE')
    user.cloud.compute.confirm_server_resize(server.id)
    driver.until(lambda: user.show(server.id).status == 'ACTIVE',
                 'the migration is confirmed', user.patience)
    assert user.host(server.id) != origin
    assert 0.3 in user.container(server.id).reserved


def test_a_server_of_a_killed_node_is_evacuated_and_the_node_comes_back(
        stack, user, operator, flavors, nodes, manage):
    server = user.boot(flavors(60_000), 'busybox-hog')
    dead = user.host(server.id)
    name = f'node-{dead}'
    stack.site.processes.stop([name], grace=0)
    service = next(operator.compute.services(binary='nova-compute', host=name))
    operator.compute.update_service_forced_down(service, name)
    try:
        operator.compute.evacuate_server(server.id)
        driver.until(
            lambda: user.host(server.id) != dead and user.at_rest(server.id),
            'the server is evacuated', user.patience, pause=1)
        # Nova leaves it to the operator to start it: microversion 2.95.
        assert user.show(server.id).status == 'SHUTOFF'
        operator.compute.start_server(server.id)
        user.settled(server.id, 'ACTIVE')
        assert 0.3 in user.container(server.id).reserved
    finally:
        stack.restart(name)
        driver.until(lambda: driver.taken_back(operator, service, name),
                     f'{name} is taken back', user.patience, pause=2)
    # What it had is not its own any more, and it says so.
    for node in nodes:
        driver.until(lambda node=node: manage(node, 'audit') == [],
                     'all say the same', patience=300, pause=2)
