# SPDX-License-Identifier: Apache-2.0
"""nova-rt-compute is killed at every named point of what it does.

By default at a few of them; FULL=1 takes them all.
"""

import itertools

import pytest

from nova_rt import bandwidth
from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e import kill_points

SAMPLE = 2
RESERVED = (20_000, 100_000)
# What /machine may hold beyond: a runtime is a whole number of µs.
ROUNDING = 2


@pytest.fixture(scope='module')
def order(stack, tmp_path_factory):
    """The file that tells nova-rt-compute where to die."""
    with kill_points.installed(stack, tmp_path_factory.mktemp('kill')) as path:
        yield path


@pytest.fixture
def flavor(flavors):
    return flavors(*RESERVED)


@pytest.mark.parametrize('point', full.some(kill_points.CREATE, SAMPLE), ids=str)
def test_nothing_is_lost_doubled_or_left_when_killed_in_a_create(
        point, stack, kernel, user, flavor, order):
    order.write_text(str(point))
    server = user.ask(flavor)
    driver.until(lambda: not order.exists(), f'{point} is reached')
    stack.restart('nova-compute')
    driver.until(lambda: holds_what_runs(kernel), 'the kernel holds it')
    driver.until(lambda: ledger_covers(stack, kernel), 'the ledger has it')
    user.delete(server.id)
    driver.until(lambda: nothing_left(stack, kernel), 'nothing is left')


@pytest.mark.parametrize('point', full.some(kill_points.DELETE, SAMPLE), ids=str)
def test_nothing_is_left_when_killed_in_a_delete(
        point, stack, kernel, user, flavor, order):
    server = user.boot(flavor)
    assert holds_what_runs(kernel)
    assert ledger_covers(stack, kernel)
    order.write_text(str(point))
    user.cloud.compute.delete_server(server.id)
    driver.until(lambda: not order.exists(), f'{point} is reached')
    stack.restart('nova-compute')
    user.delete(server.id)
    driver.until(lambda: nothing_left(stack, kernel), 'nothing is left')


@pytest.mark.parametrize(
    ('runtime_us', 'point'),
    full.some([*itertools.product((10_000, 30_000), kill_points.RESIZE)], SAMPLE), ids=str)
def test_all_say_the_same_when_killed_in_a_resize_in_place(
        runtime_us, point, stack, user, flavor, flavors, order, manage):
    server = user.boot(flavor)
    init = user.init_of(server.id)
    order.write_text(str(point))
    user.cloud.compute.resize_server(
        server.id, flavors(runtime_us, RESERVED[1]))
    driver.until(lambda: not order.exists(), f'{point} is reached')
    stack.restart('nova-compute')
    driver.until(lambda: driver.agreed(manage), 'all say the same')
    shown = user.show(server.id)
    assert shown.status in ('ACTIVE', 'VERIFY_RESIZE')
    has = RESERVED[0] if shown.status == 'ACTIVE' else runtime_us
    assert set(user.container(server.id).shares.values()) == {
        has / RESERVED[1]}
    assert user.init_of(server.id) == init


def nothing_left(stack, kernel) -> bool:
    """Whether neither the kernel nor the ledger holds anything."""
    return (driver.nothing_held(kernel)
            and not any(driver.ledger(stack).used))


def ledger_covers(stack, kernel) -> bool:
    """Whether the ledger has what runs, and not more than one server's.

    A server that was claimed for and is not started holds in the ledger only.
    """
    most = bandwidth.to_bandwidth(*RESERVED)
    return all(below <= used <= most for below, used in zip(
        driver.in_containers(kernel), driver.ledger(stack).used, strict=True))


def holds_what_runs(kernel) -> bool:
    """Whether each container has its reservation, and /machine just that."""
    budgets = [kernel.read(group) for group in kernel.tree.children('machine')]
    if any((budget.runtimes_us[0], budget.period_us) != RESERVED
           for budget in budgets):
        return False
    if not kernel.tree.exists('machine'):
        return True
    return all(0 <= above - below <= ROUNDING for above, below in zip(
        kernel.read('machine').bandwidths, driver.in_containers(kernel),
        strict=True))
