# SPDX-License-Identifier: Apache-2.0
"""Running virtual machines go to the other host, with their disk and their reservation."""


import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e.cloud_of_machines import test_shares
from stack import machines

SHARE = 0.2
IN_A_ROW = 20 if full.WANTED else 4


@pytest.fixture
def server(user, flavors):
    """The id of a running server with 20% of a pCPU."""
    return user.boot(flavors(40_000)).id


def test_there_and_back_again_it_has_its_reservation_and_its_disk(hosts, server):
    number = hosts.of(server)
    for _ in range(IN_A_ROW):
        number = 3 - number
        assert hosts.migrate_live(server) == 'completed'
        assert {*hosts.machine(server, number).shares.values()} == {SHARE}
    hosts.assert_only_on(number, server, SHARE)
    driver.assert_get(machines.measure, hosts.machine(server, number),
                      test_shares.WINDOW_S, test_shares.TOLERANCE)
