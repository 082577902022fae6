# SPDX-License-Identifier: Apache-2.0
"""Running virtual machines go to the other host, with their disk and their reservation."""

import collections
import contextlib
import threading
import time

import pytest

from demo import outside
from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from nova_rt.tests.e2e.cloud_of_machines import test_shares
from stack import machines
from stack import vcpus

SHARE = 0.2
# What a vCPU that has not run yet can have used.
RUNS_NS = 5_000_000
IN_A_ROW = 50 if full.WANTED else 4
HOG_S = 7200


@pytest.fixture
def server(user, flavors):
    """The id of a running server with 20% of a pCPU."""
    return user.boot(flavors(40_000)).id


def test_there_and_back_again_it_has_its_reservation_and_its_disk(hosts, server):
    number = hosts.of(server)
    for _ in range(2):
        number = 3 - number
        assert hosts.migrate_live(server) == 'completed'
        hosts.assert_only_on(number, server, SHARE)
    driver.assert_get(vcpus.measure, hosts.machine(server, number),
                      test_shares.WINDOW_S, test_shares.TOLERANCE)


def test_under_load_it_arrives_with_its_reservation_or_stays_with_it(
        stack, hosts, user, flavors, server):
    """Each time, beside a server with 50% on either host and a hog on every pCPU."""
    assert {hosts.of(user.boot(flavors(100_000)).id) for _ in range(2)} == {1, 2}
    ends = []
    with outside.Hog(stack, 'other', '0', None, HOG_S):
        for _ in range(IN_A_ROW):
            here = hosts.of(server)
            with watching_first_runs(hosts.sight(server, 3 - here)) as runs:
                end = hosts.migrate_live(server)
            ends.append(end)
            now = 3 - here if end == 'completed' else here
            assert hosts.of(server) == now
            assert not hosts.has_domain(server, 3 - now)
            assert {*hosts.machine(server, now).shares.values()} == {SHARE}
            assert [shares for shares in runs if shares != {SHARE}] == []
            assert runs or end != 'completed'
    print(collections.Counter(ends))
    assert 'completed' in ends
    hosts.assert_agreed()


def test_its_vcpu_has_the_reservation_when_it_first_runs_there(hosts, server):
    with watching_first_runs(hosts.sight(server, 3 - hosts.of(server))) as runs:
        assert hosts.migrate_live(server) == 'completed'
    assert runs
    assert [shares for shares in runs if shares != {SHARE}] == []


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
def watching_first_runs(look):
    """Look at a virtual machine and yield the list of what it has whenever its vCPU has run.

    :param look: returns it
    """
    runs = []

    def note(machine):
        used_ns = [used for _, used in vcpus.used(machine).values()]
        if max(used_ns, default=0) > RUNS_NS:
            runs.append({*look().shares.values()})

    with watching(look, note):
        yield runs


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
