# SPDX-License-Identifier: Apache-2.0
"""A claim that would be refused moves a vCPU of another server, by a real Nova and kernel."""

import pytest

from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import nova_options
from stack import vcpus

WINDOW_S = 10.0
TOLERANCE = 0.003
SMALL, LARGE = 0.45, 0.6


@pytest.fixture
def making_room(stack):
    """The host makes room before it refuses a server."""
    with nova_options.of(stack, 'nova-compute', 'defrag_on_refusal = true'):
        yield


def test_a_server_that_fits_no_pcpu_is_let_in_at_once(user, flavors, making_room):
    small = [user.boot(flavors(90_000)).id for _ in range(2)]
    before = [user.machine(server) for server in small]
    assert [machine.shares for machine in before] == [{0: SMALL}, {1: SMALL}]
    large = user.machine(user.boot(flavors(120_000)).id)
    after = [user.machine(server) for server in small]
    assert [set(machine.threads.values()) for machine in after] == [
        set(machine.threads.values()) for machine in before]
    where, = large.shares
    assert [machine.shares for machine in (*after, large)] == [
        {1 - where: SMALL}, {1 - where: SMALL}, {where: LARGE}]
    for machine in (*after, large):
        driver.assert_get(vcpus.measure, machine, WINDOW_S, TOLERANCE)
