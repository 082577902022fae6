# SPDX-License-Identifier: Apache-2.0
"""What Nova does to a virtual machine leaves it the reservation, or gives it back."""

import pytest

from nova_rt.tests.e2e import driver
from stack import machines

SHARE = 0.2


@pytest.fixture
def server(user, flavors):
    """A server with 20% of a pCPU."""
    return user.boot(flavors(40_000))


def test_it_has_its_reservation_after_whatever_begins_and_ends_a_guest(
        stack, user, server):
    compute = user.cloud.compute
    for begin, between, end in (
            (compute.stop_server, 'SHUTOFF', compute.start_server),
            (compute.pause_server, 'PAUSED', compute.unpause_server),
            (compute.suspend_server, 'SUSPENDED', compute.resume_server),
            (compute.rescue_server, 'RESCUE', compute.unrescue_server),
            (compute.shelve_server, 'SHELVED_OFFLOADED', compute.unshelve_server)):
        begin(server.id)
        becomes(user, server, between)
        if between in ('PAUSED', 'RESCUE'):
            assert user.shares(server.id) == {SHARE}
        else:
            assert user.nothing_runs()
        end(server.id)
        becomes(user, server, 'ACTIVE')
        assert user.shares(server.id) == {SHARE}


def test_it_has_its_reservation_after_what_makes_its_guest_anew(user, server):
    compute = user.cloud.compute
    image = user.cloud.image.find_image(user.image).id
    for again in (lambda: compute.reboot_server(server.id, 'SOFT'),
                  lambda: compute.reboot_server(server.id, 'HARD'),
                  lambda: compute.rebuild_server(server.id, image)):
        before = user.machine(server.id)
        again()
        user.settled(server.id, 'ACTIVE')
        after = user.machine(server.id)
        assert after.threads != before.threads
        assert after.shares == before.shares


def test_a_snapshot_leaves_it_the_reservation(user, server):
    before = user.machine(server.id)
    image = user.cloud.compute.create_server_image(server.id, 'snapshot', wait=True)
    user.settled(server.id, 'ACTIVE')
    assert user.shares(server.id) == set(before.shares.values())
    user.cloud.image.delete_image(image)


def test_a_resize_of_times_alone_changes_the_running_guest(user, flavors, server):
    before = user.machine(server.id)
    user.cloud.compute.resize_server(server.id, flavors(30_000, 100_000))
    user.settled(server.id, 'VERIFY_RESIZE')
    assert user.machine(server.id).threads == before.threads
    assert user.shares(server.id) == {0.3}
    user.cloud.compute.revert_server_resize(server.id)
    user.settled(server.id, 'ACTIVE')
    assert user.machine(server.id) == before


def test_a_resize_that_restarts_the_guest_gives_it_what_it_wants(user, flavors, server):
    user.cloud.compute.resize_server(server.id, flavors(60_000, ram=96))
    user.settled(server.id, 'VERIFY_RESIZE')
    assert user.shares(server.id) == {0.3}
    user.cloud.compute.confirm_server_resize(server.id)
    becomes(user, server, 'ACTIVE')
    assert user.shares(server.id) == {0.3}


def test_services_that_come_back_find_it_as_it_was(stack, user, flavors, server):
    before = user.machine(server.id)
    for name in ('libvirtd', 'nova-compute'):
        stack.restart(name)
        assert user.machine(server.id) == before
    too_large = flavors(160_000, vcpus=2)
    # Nova disables a host whose libvirt was away, and enables it when it pleases.
    driver.until(lambda: 'lacks' in refusal(user, too_large),
                 'the share it has is what is refused to another')


def test_a_guest_that_was_killed_holds_nothing_until_it_is_started(stack, user, server):
    machines.kill(stack.site, user.machine(server.id))
    driver.until(user.nothing_runs, 'its threads have ended')
    becomes(user, server, 'SHUTOFF')
    user.cloud.compute.start_server(server.id)
    becomes(user, server, 'ACTIVE')
    assert user.shares(server.id) == {SHARE}


def becomes(user, server, status):
    """Wait until a server has a status and no task; Nova may take the task on late."""
    driver.until(lambda: user.show(server.id).status == status, f'it is {status}')
    user.settled(server.id, status)


def refusal(user, flavor):
    """Return why a server that cannot be had was refused."""
    refused = user.settled(user.ask(flavor).id, 'ERROR')
    user.delete(refused.id)
    return refused.fault['message']
