# SPDX-License-Identifier: Apache-2.0
"""Virtual machines that are stopped on one host and started on the other."""

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


def becomes_active(user, server):
    """Wait until a server is active; Nova shows no task while it confirms a move."""
    driver.until(lambda: user.show(server).status == 'ACTIVE', 'it is active')
    user.settled(server, 'ACTIVE')
