# SPDX-License-Identifier: Apache-2.0
"""Two schedulers and eight clients who all ask at once, on a real database."""

import concurrent.futures
import json
import threading

import openstack.exceptions
import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from stack.services import keystone
from stack.services import nova

NAMES = ('scheduler-1', 'scheduler-2')
CLIENTS = 8
# Runtime in µs every 200 ms, and vCPUs; two pCPUs have room for half of them.
SHAPES = ((40_000, 1), (40_000, 2), (60_000, 1), (20_000, 2), (80_000, 1))
# Twice as many of half as much with FULL=1.
TIMES = 2 if full.WANTED else 1
SERVERS = 12 * TIMES
# A budget is written in whole µs.
ROUNDING = 8
# What Nova logs, if asked to log all, whenever it chooses hosts.
DECISION = 'Starting to schedule for instances'


class Scheduler(nova.NovaScheduler):
    """One of several schedulers.

    :param name: by which Nova tells it from the others
    """

    def __init__(self, site, name):
        super().__init__(site)
        self.name = name

    def command(self):
        """Return the command line of any scheduler."""
        return nova.NovaScheduler(self.site).command()

    def environment(self):
        """Return what differs, as oslo.config reads it."""
        return {'OS_DEFAULT__HOST': self.name, 'OS_DEFAULT__DEBUG': 'true'}

    def ready(self):
        """Whether it reported that it is up."""
        services = keystone.cloud(self.site).compute.services(host=self.name)
        return any(
            service.state == 'up' and self._is_new(service.updated_at)
            for service in services)

    def decisions(self):
        """Return how often it has chosen hosts."""
        log = self.site.rundir.logs / f'{self.name}.log'
        return log.read_text(errors='replace').count(DECISION)


@pytest.fixture
def schedulers(stack, operator):
    """Two schedulers, in place of the only one."""
    both = [Scheduler(stack.site, name) for name in NAMES]
    stack.site.processes.stop(['nova-scheduler'])
    try:
        for each in both:
            each.start()
        yield both
    finally:
        stack.site.processes.stop(NAMES)
        stack.restart('nova-scheduler')
        for service in operator.compute.services(binary='nova-scheduler'):
            if service.host in NAMES:
                operator.compute.delete_service(service)


class Watch:
    """Looks again and again at what is held, as long as it is open.

    :ivar most: by what was looked at, the most that any pCPU ever held
    """

    def __init__(self, stack, kernel):
        self.most = {'kernel': 0, 'ledger': 0}
        self._stack = stack
        self._kernel = kernel
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._closed.set()
        self._thread.join()

    def _look(self):
        while not self._closed.wait(0.1):
            for name, held in (
                    ('ledger', driver.ledger(self._stack).used),
                    ('kernel', driver.in_containers(self._kernel))):
                self.most[name] = max(self.most[name], *held)


def test_two_schedulers_and_eight_clients_never_overcommit_and_say_why(
        stack, schedulers, user, flavors, kernel, manage, no_quota):
    wanted = [flavors(runtime_us // TIMES, vcpus=vcpus) for runtime_us, vcpus in SHAPES]
    wanted = [wanted[i % len(wanted)] for i in range(SERVERS)]
    with Watch(stack, kernel) as watch, \
            concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(clients.map(lambda each: ask(user, each), wanted))
        asked_for = {server: flavor for server, flavor in zip(answers, wanted, strict=True)
                     if server}
        ended = [settled(user, server) for server in asked_for]
    print({each.name: each.decisions() for each in schedulers}, watch.most)
    assert all(each.decisions() for each in schedulers)

    capacity = driver.ledger(stack).capacity
    assert 0 < watch.most['kernel'] <= min(capacity)
    assert 0 < watch.most['ledger'] <= min(capacity)
    driver.until(lambda: same(stack, kernel), 'ledger and kernel are the same')

    refused = [each for each in ended if each.status == 'ERROR']
    print(f'{SERVERS} asked for, {len(ended)} accepted, '
          f'{len(refused)} without room')
    assert 0 < len(refused) < len(ended)
    with concurrent.futures.ThreadPoolExecutor(2) as askers:
        lacking = list(askers.map(lambda each: what_lacks(manage, each), refused))
    fits_now = [each.id for each, lacks in zip(refused, lacking, strict=True) if not lacks]
    print(f'{len(fits_now)} were refused for those that were refused later')
    for server in fits_now[:1]:
        assert settled(user, ask(user, asked_for[server])).status == 'ACTIVE'


def settled(user, server):
    """Return a server once it is ACTIVE or in ERROR."""
    return driver.until(lambda: user.at_rest(server), f'server {server} settles')


def ask(user, flavor):
    """Return the id of a server that was asked for; None for a 4xx."""
    try:
        return user.ask(flavor).id
    except openstack.exceptions.HttpException as refusal:
        if refusal.status_code >= 500:
            raise
        return None


def same(stack, kernel):
    """Return whether the containers have what the ledger says."""
    return all(0 <= ledger - has <= ROUNDING for ledger, has in zip(
        driver.ledger(stack).used, driver.in_containers(kernel), strict=True))


def what_lacks(manage, server):
    """Assert that a server has a fault, and return what it lacks by now, said host by host.

    That is nothing if Placement had its room for another one which a host refused.
    """
    status, printed, trouble = manage('why', server.id)
    assert status == 0, trouble
    rows = json.loads(printed)
    assert [row['why'] for row in rows if row['what'] == 'fault']
    assert server.fault['message']
    told = [row['why'] for row in rows if row['host']]
    assert told, rows
    return [why for why in told if why != 'The server fits now.']
