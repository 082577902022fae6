# SPDX-License-Identifier: Apache-2.0
"""A reservation that is changed while its container runs on."""

import json

import pytest

from nova_rt.tests.e2e import driver


@pytest.fixture
def server(user, flavors):
    """A server that hogs its 20%."""
    return user.boot(flavors(40_000), 'busybox-hog')


def identity(user, server):
    """Return what another container would have another of."""
    return user.container(server.id).group, user.init_of(server.id)


def assert_has(user, server, share):
    container = user.container(server.id)
    assert set(container.shares.values()) == {share}
    driver.assert_gets_its_shares(container)


def test_a_resize_of_times_alone_changes_the_running_container(
        stack, user, flavors, server, manage):
    before = identity(user, server)
    for runtime_us, period_us in ((30_000, 100_000), (20_000, 200_000)):
        user.cloud.compute.resize_server(
            server.id, flavors(runtime_us, period_us))
        user.settled(server.id, 'VERIFY_RESIZE')
        assert identity(user, server) == before
        assert_has(user, server, runtime_us / period_us)
        driver.until(lambda: driver.agreed(manage), 'all say the same')
        user.cloud.compute.confirm_server_resize(server.id)
        driver.until(lambda: user.show(server.id).status == 'ACTIVE',
                     'the resize is confirmed')
    stack.restart('nova-compute')
    assert identity(user, server) == before
    assert_has(user, server, 0.1)
    driver.until(lambda: driver.agreed(manage), 'all say the same')


def test_a_revert_gives_the_running_container_its_old_budget(
        user, flavors, server, manage):
    before = identity(user, server)
    user.cloud.compute.resize_server(server.id, flavors(60_000))
    user.settled(server.id, 'VERIFY_RESIZE')
    user.cloud.compute.revert_server_resize(server.id)
    user.settled(server.id, 'ACTIVE')
    assert identity(user, server) == before
    assert_has(user, server, 0.2)
    driver.until(lambda: driver.agreed(manage), 'all say the same')


def test_another_start_has_the_new_budget(user, flavors, server):
    user.cloud.compute.resize_server(server.id, flavors(60_000))
    user.settled(server.id, 'VERIFY_RESIZE')
    user.cloud.compute.confirm_server_resize(server.id)
    driver.until(lambda: user.show(server.id).status == 'ACTIVE',
                 'the resize is confirmed')
    user.cloud.compute.reboot_server(server.id, 'HARD')
    user.settled(server.id, 'ACTIVE')
    assert_has(user, server, 0.3)


def test_an_operator_changes_a_hint_and_the_container_runs_on(
        user, flavors, manage):
    server = user.boot(flavors(60_000), 'busybox-hog',
                       cpu__rt_runtime_us='40000')
    before = identity(user, server)
    status, printed, trouble = manage(
        'reservation', 'set', server.id, '--runtime-us', '80000')
    assert status == 0, trouble
    assert json.loads(printed)['runtime_us'] == 80_000
    assert identity(user, server) == before
    assert_has(user, server, 0.4)
    shown = user.settled(server.id, 'ACTIVE')
    assert shown.scheduler_hints['cpu.rt_runtime_us'] in ('80000', ['80000'])
    driver.until(lambda: driver.agreed(manage), 'all say the same')


def test_what_does_not_fit_is_refused_in_a_sentence(user, flavors, manage):
    server = user.boot(flavors(40_000), 'busybox-hog')
    status, _, trouble = manage(
        'reservation', 'set', server.id, '--runtime-us', '199000')
    assert status == 1
    assert 'can be reserved' in trouble
    assert 'Traceback' not in trouble
