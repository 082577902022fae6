# SPDX-License-Identifier: Apache-2.0
"""Each service is killed while servers are created, changed and deleted.

It runs with FULL=1, when each service is killed five times, or when
NOVA_RT_CHAOS_SEED names the seed. That gives the same operations and pauses each
time, not the same order of events. What Nova has allocated through Placement, and
forgot to say or to take back when it was killed, is left to Nova's audit and ours.
"""

import concurrent.futures
import json
import os
import random
import signal
import time

from keystoneauth1 import exceptions as ks_exc
import openstack.exceptions
import pytest
import requests

from nova_rt import drifts
from nova_rt.tests.e2e import driver
from stack import processes

FULL = os.environ.get('FULL') == '1'
SEED = os.environ.get('NOVA_RT_CHAOS_SEED', '1' if FULL else None)
ROUNDS = 5 if FULL else 1
SERVICES = (
    'nova-compute', 'nova-scheduler', 'nova-conductor', 'nova-api',
    'placement', 'keystone', 'glance', 'libvirtd', 'rabbitmq', 'mariadb')
# At once, around the death of a service.
OPERATIONS = 5
MOST_SERVERS = 5
LONGEST_PAUSE_S = 2.0
AT_REST_S = 30
# What a client hears while a service is away, and of a server that changes.
ANSWERS = (openstack.exceptions.SDKException, ks_exc.ClientException,
           requests.RequestException)
# What can be done to a server, by its status.
POSSIBLE = {'ACTIVE': ('stop', 'reboot', 'reboot', 'delete'),
            'SHUTOFF': ('start', 'start', 'delete')}
# Runtime and vCPUs; the period is 200 ms.
SHAPES = ((20_000, 1), (30_000, 2), (60_000, 1), (40_000, 2), (None, 1))


@pytest.mark.skipif(SEED is None, reason='set FULL=1 or NOVA_RT_CHAOS_SEED')
def test_whichever_service_is_killed_all_say_the_same_in_the_end(
        stack, user, flavors, kernel, manage, nova_manage):
    chance = random.Random(int(SEED))
    wanted = [flavors(runtime_us, vcpus=vcpus) for runtime_us, vcpus in SHAPES]
    with concurrent.futures.ThreadPoolExecutor(OPERATIONS) as clients:
        for name in SERVICES * ROUNDS:
            began = [clients.submit(ask, user, *operation) for operation
                     in operations(user, wanted, chance)]
            time.sleep(chance.uniform(0, LONGEST_PAUSE_S))
            kill(stack, name)
            stack.restart(name)
            print(name, [each.result() for each in began])
    stack.restart('nova-compute')
    delete_what_is_stuck(user)
    agree(manage, drifts.Kind.PLACEMENT_LACKS, drifts.Kind.PLACEMENT_ORPHAN,
          drifts.Kind.PLACEMENT_UNKNOWN)
    # Its exit status says that it has found something.
    print(nova_manage('placement', 'audit', '--delete', '--verbose').stdout)
    print(manage('audit', '--heal')[1])
    agree(manage)
    user.delete_all()
    agree(manage)
    assert held(kernel) == {}


def operations(user, flavors, chance):
    """Return what to do at once, each a name and what it is done to."""
    there = there_are(user)
    chosen = []
    for _ in range(OPERATIONS):
        made = sum(name == 'create' for name, _ in chosen)
        if not there or (len(there) + made < MOST_SERVERS
                         and chance.random() < 0.5):
            chosen.append(('create', chance.choice(flavors)))
        else:
            server, status = chance.choice(there)
            chosen.append((chance.choice(
                POSSIBLE.get(status, ('delete',))), server))
    return chosen


def there_are(user):
    """Return the user's servers and their status, once the API lists them."""
    def listed():
        try:
            return [[(each.id, each.status)
                     for each in user.cloud.compute.servers()]]
        except ANSWERS:
            return None
    (servers,) = driver.until(listed, 'the API answers')
    return sorted(servers)


def ask(user, name, subject):
    """Do one thing; return its name, and how it was refused if it was."""
    compute = user.cloud.compute
    try:
        if name == 'create':
            user.ask(subject, 'busybox-hog')
        elif name == 'stop':
            compute.stop_server(subject)
        elif name == 'start':
            compute.start_server(subject)
        elif name == 'reboot':
            compute.reboot_server(subject, 'HARD')
        else:
            compute.delete_server(subject)
    except ANSWERS as answer:
        return f'{name}: {type(answer).__name__}'
    return name


def kill(stack, name):
    """Kill all processes of a service at once."""
    members = stack.site.processes.members([name])
    assert members, f'{name} does not run'
    for pid in members:
        processes.send(pid, signal.SIGKILL)


def delete_what_is_stuck(user):
    """Delete servers whose task was lost with a message or a service.

    Nothing of Nova's would ever go on with it. An operator would do so too,
    or reset their state.
    """
    for server, _ in there_are(user):
        try:
            driver.until(lambda server=server: user.at_rest(server),
                         f'server {server} comes to rest', AT_REST_S)
        except openstack.exceptions.NotFoundException:
            pass  # It was being deleted.
        except TimeoutError:
            print(f'stuck: {server}')
            user.delete(server)


def held(kernel):
    """Return the budgets of all groups of containers, and of that above them.

    A libvirtd that is killed while it starts a container may leave an empty
    group without one.
    """
    groups = ('machine', *kernel.tree.children('machine')) if (
        kernel.tree.exists('machine')) else ()
    budgets = {group: kernel.read(group).runtimes_us for group in groups}
    return {group: runtimes_us for group, runtimes_us in budgets.items()
            if any(runtimes_us)}


def agree(manage, *but):
    """Assert that an audit finds nothing, once all have caught up.

    :param but: kinds of drift that there may be
    """
    def audited():
        status, printed, trouble = manage('audit')
        assert status in (0, 1), trouble
        found.append([drift for drift in json.loads(printed)
                      if drift['kind'] not in but])
        return not found[-1]
    found = []
    try:
        driver.until(audited, 'all say the same', pause=1)
    except TimeoutError:
        assert found[-1] == []
