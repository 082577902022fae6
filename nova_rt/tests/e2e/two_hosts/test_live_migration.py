# SPDX-License-Identifier: Apache-2.0
"""Running virtual machines go to the other host, with their disk and their reservation."""

import contextlib
import threading
import time

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e.cloud_of_machines import test_shares
from stack import machines

SHARE = 0.2
# What a vCPU that has not run yet can have used.
RUNS_NS = 5_000_000
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


def test_its_vcpu_has_the_reservation_when_it_first_runs_there(hosts, server):
    look = hosts.sight(server, 3 - hosts.of(server))
    seen = []

    def note(machine):
        used_ns = [used for _, used in machines.used(machine).values()]
        seen.append((max(used_ns, default=0), {*look().shares.values()}))

    with watching(look, note):
        assert hosts.migrate_live(server) == 'completed'
    ran = [shares for used_ns, shares in seen if used_ns > RUNS_NS]
    assert ran
    assert [shares for shares in ran if shares != {SHARE}] == []


def test_it_stays_where_it_is_if_the_other_host_has_no_room(
        hosts, user, flavors, server):
    here = hosts.of(server)
    most = flavors(160_000)
    assert hosts.of(user.boot(most).id) == 3 - here
    assert hosts.migrate_live(server) == 'error'
    assert {*hosts.machine(server, here).shares.values()} == {SHARE}
    assert 'lacks' in str(hosts.reasons(server))


def test_a_qemu_that_is_killed_there_leaves_it_here(stack, hosts, user, operator, server):
    here = hosts.of(server)
    with watching(hosts.sight(server, 3 - here),
                  lambda machine: machines.kill(stack.site, machine)):
        assert hosts.migrate_live(server) in ('failed', 'error')
    # Nova says so of any server whose migration failed on its way, though it runs.
    driver.until(lambda: user.show(server).status == 'ERROR', 'Nova has given up')
    operator.compute.reset_server_state(server, 'active')
    hosts.assert_only_on(here, server, SHARE)
    assert hosts.migrate_live(server) == 'completed'
    hosts.assert_only_on(3 - here, server, SHARE)


def test_a_qemu_that_is_killed_here_ends_it_and_it_can_be_started(
        stack, hosts, user, server):
    here = hosts.of(server)
    running = hosts.machine(server, here)
    with watching(hosts.sight(server, 3 - here),
                  lambda machine: machines.kill(stack.site, running)):
        hosts.begin_live(server)
        driver.until(lambda: user.show(server).status == 'ERROR', 'Nova has given up')
    user.cloud.compute.reboot_server(server, 'HARD')
    driver.until(lambda: user.show(server).status == 'ACTIVE', 'it is started')
    user.settled(server, 'ACTIVE')
    # Nova may have taken the migration for completed.
    hosts.assert_only_on(hosts.of(server), server, SHARE, tidy=False)


@contextlib.contextmanager
def watching(look, seen):
    """Look at a virtual machine in a thread, and tell as soon as it is there and while it is.

    :param look: returns it
    :param seen: is called with it
    """
    stop = threading.Event()

    def watch():
        while not stop.is_set():
            with contextlib.suppress(OSError, ValueError, StopIteration):
                seen(look())
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
