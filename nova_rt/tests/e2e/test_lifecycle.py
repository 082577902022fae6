# SPDX-License-Identifier: Apache-2.0
"""A reservation from start to start, and its end."""

import pytest

from nova_rt.tests.e2e import driver


def test_after_delete_nothing_is_left_in_the_kernel(user, flavors, kernel):
    server = user.boot(flavors(60_000), 'busybox-hog')
    user.delete(server.id)
    driver.until(lambda: driver.nothing_held(kernel), 'all is given back')


def test_a_stopped_server_holds_no_budget_and_has_it_again_once_started(
        user, flavors, kernel):
    server = user.boot(flavors(60_000), 'busybox-hog')
    user.cloud.compute.stop_server(server.id)
    user.settled(server.id, 'SHUTOFF')
    driver.until(lambda: driver.nothing_held(kernel), 'all is given back')
    user.cloud.compute.start_server(server.id)
    user.settled(server.id, 'ACTIVE')
    assert set(user.container(server.id).shares.values()) == {0.3}


def test_a_server_that_was_stopped_a_moment_ago_starts_again(user, flavors):
    server = user.boot(flavors(60_000), 'busybox-hog')
    user.cloud.compute.stop_server(server.id)
    user.settled(server.id, 'SHUTOFF')
    user.cloud.compute.start_server(server.id)
    user.settled(server.id, 'ACTIVE')
    assert set(user.container(server.id).shares.values()) == {0.3}


@pytest.mark.parametrize('kind', ['SOFT', 'HARD'])
def test_a_reboot_makes_a_new_group_with_the_same_budget(
        user, flavors, kind):
    server = user.boot(flavors(60_000), 'busybox-hog')
    before = user.container(server.id)
    user.cloud.compute.reboot_server(server.id, kind)
    user.settled(server.id, 'ACTIVE')
    after = driver.until(lambda: another(user, server, before),
                         'a new container runs')
    assert after.shares == before.shares


def test_a_new_nova_rt_compute_finds_the_reservation_as_it_was(
        stack, user, flavors):
    server = user.boot(flavors(60_000), 'busybox-hog')
    before = user.container(server.id)
    stack.restart('nova-compute')
    assert user.container(server.id) == before
    refused = user.ask(flavors(140_000, vcpus=2)).id
    assert 'lacks' in user.settled(refused, 'ERROR').fault['message']


def another(user, server, before):
    """Return a server's container if it is not the one before."""
    try:
        container = user.container(server.id)
    except FileNotFoundError:
        return None
    return None if container.group == before.group else container
