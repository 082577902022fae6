# SPDX-License-Identifier: Apache-2.0
"""Virtual machines that are stopped on one host and started on the other."""

from concurrent import futures

import pytest

from nova_rt.tests.e2e import driver

SHARE = 0.2


@pytest.fixture
def server(user, flavors):
    """The id of a running server with 20% of a pCPU."""
    return user.boot(flavors(40_000)).id


def test_a_cold_migration_takes_the_reservation_along(hosts, user, operator, server):
    here = hosts.of(server)
    operator.compute.migrate_server(server)
    user.settled(server, 'VERIFY_RESIZE')
    user.cloud.compute.confirm_server_resize(server)
    becomes_active(user, server)
    hosts.assert_only_on(3 - here, server, SHARE)


def test_a_cold_migration_that_is_reverted_gives_it_back(hosts, user, operator, server):
    here = hosts.of(server)
    operator.compute.migrate_server(server)
    user.settled(server, 'VERIFY_RESIZE')
    assert {*hosts.machine(server, 3 - here).shares.values()} == {SHARE}
    user.cloud.compute.revert_server_resize(server)
    becomes_active(user, server)
    hosts.assert_only_on(here, server, SHARE)


def test_a_resize_to_the_other_host_has_the_new_reservation(hosts, user, flavors, server):
    here = hosts.of(server)
    user.cloud.compute.resize_server(server, flavors(60_000, ram=96))
    user.settled(server, 'VERIFY_RESIZE')
    user.cloud.compute.confirm_server_resize(server)
    becomes_active(user, server)
    hosts.assert_only_on(3 - here, server, 0.3)


def test_a_resize_to_the_other_host_that_is_reverted_has_the_old_one(
        hosts, user, flavors, server):
    here = hosts.of(server)
    user.cloud.compute.resize_server(server, flavors(60_000, ram=96))
    user.settled(server, 'VERIFY_RESIZE')
    assert {*hosts.machine(server, 3 - here).shares.values()} == {0.3}
    user.cloud.compute.revert_server_resize(server)
    becomes_active(user, server)
    hosts.assert_only_on(here, server, SHARE)


def test_a_shelved_server_has_its_reservation_wherever_it_is_unshelved(
        hosts, user, operator, server):
    here = hosts.of(server)
    user.cloud.compute.shelve_server(server)
    driver.until(lambda: user.show(server).status == 'SHELVED_OFFLOADED', 'it is shelved')
    user.settled(server, 'SHELVED_OFFLOADED')
    hosts.assert_hold({1: 0, 2: 0})
    service = hosts.service(here)
    operator.compute.disable_service(service)
    try:
        user.cloud.compute.unshelve_server(server)
        becomes_active(user, server)
    finally:
        operator.compute.enable_service(service)
    hosts.assert_only_on(3 - here, server, SHARE)


def test_a_server_of_a_host_that_died_is_evacuated_with_its_reservation(
        stack, hosts, user, operator, server):
    here = hosts.of(server)
    stack.site.processes.stop([hosts.compute(here)], grace=0)
    hosts.kill(server, here)
    service = hosts.service(here)
    operator.compute.update_service_forced_down(service, service.host)
    try:
        operator.compute.evacuate_server(server)
        driver.until(lambda: hosts.of(server) != here and user.at_rest(server),
                     'it is evacuated')
        # Nova leaves it to the operator to start it: microversion 2.95.
        user.settled(server, 'SHUTOFF')
        operator.compute.start_server(server)
        becomes_active(user, server)
        assert {*hosts.machine(server, 3 - here).shares.values()} == {SHARE}
    finally:
        # It is not up before Nova is told so, which is refused until it has given up the
        # server.
        with futures.ThreadPoolExecutor() as beside:
            started = beside.submit(stack.restart, hosts.compute(here))
            driver.until(lambda: driver.taken_back(operator, service, service.host),
                         'the host is taken back')
            started.result()
    hosts.assert_only_on(3 - here, server, SHARE)


def becomes_active(user, server):
    """Wait until a server is active; Nova shows no task while it confirms a move."""
    driver.until(lambda: user.show(server).status == 'ACTIVE', 'it is active')
    user.settled(server, 'ACTIVE')
