# SPDX-License-Identifier: Apache-2.0
"""A claim that would be refused moves a vCPU of another server, by a real Nova and kernel.

With FULL=1, nova-rt-compute is killed at each named point of it.
"""

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import kill_points
from nova_rt.tests.e2e import nova_options
from nova_rt.tests.e2e.cloud_of_machines import machine_user
from stack import vcpus

WINDOW_S = 10.0
TOLERANCE = 0.003
SMALL, LARGE = 0.2, 0.35


@pytest.fixture
def making_room(stack):
    """The host makes room before it refuses a server."""
    with nova_options.of(
            stack, 'nova-compute', machine_user.HALF, 'defrag_on_refusal = true'):
        yield


def test_a_server_that_fits_no_pcpu_is_let_in_at_once(making_room, user, flavors):
    small = [user.boot(flavors(40_000)).id for _ in range(2)]
    before = [user.machine(server) for server in small]
    assert [machine.shares for machine in before] == [{0: SMALL}, {1: SMALL}]
    large = user.machine(user.boot(flavors(70_000)).id)
    after = [user.machine(server) for server in small]
    assert [set(machine.threads.values()) for machine in after] == [
        set(machine.threads.values()) for machine in before]
    where, = large.shares
    assert [machine.shares for machine in (*after, large)] == [
        {1 - where: SMALL}, {1 - where: SMALL}, {where: LARGE}]
    for machine in (*after, large):
        driver.assert_get(vcpus.measure, machine, WINDOW_S, TOLERANCE)


@pytest.fixture
def order(stack, making_room, tmp_path):
    """The file that tells nova-rt-compute where to die."""
    with kill_points.installed(stack, tmp_path) as path:
        yield path


@pytest.fixture
def idler(user, operator):
    """The same user; her machines do nothing, and leave the CPUs to the services."""
    with machine_user.idle(operator) as user.image:
        yield user
        user.delete_all()


@full.only
@pytest.mark.parametrize('point', kill_points.ROOM, ids=str)
def test_who_was_to_move_has_its_share_and_there_is_room_when_killed_in_it(
        point, stack, idler, flavors, order, manage):
    small = [idler.boot(flavors(40_000)).id for _ in range(2)]
    large = flavors(70_000)
    order.write_text(str(point))
    killed = idler.ask(large)
    driver.until(lambda: not order.exists(), f'{point} is reached')
    assert [SMALL in idler.shares(server) for server in small] == [True, True]
    stack.restart('nova-compute')
    # Nova keeps the allocation of what it was building until the server is deleted.
    idler.delete(killed.id)
    driver.until(lambda: driver.agreed(manage), 'all say the same')
    assert [idler.shares(server) for server in small] == [{SMALL}, {SMALL}]
    assert idler.shares(idler.boot(large).id) == {LARGE}
    assert [idler.shares(server) for server in small] == [{SMALL}, {SMALL}]
