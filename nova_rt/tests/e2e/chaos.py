# SPDX-License-Identifier: Apache-2.0
"""What happens to a cloud while its services are killed, whatever its servers are.

A seed gives the same operations and pauses each time, not the same order of events.
What Nova has allocated through Placement, and forgot to say or to take back when it was
killed, is left to Nova's audit and ours.
"""

from collections.abc import Callable
from collections.abc import Sequence
import concurrent.futures
import json
import os
import random
import signal
import subprocess
import time

from keystoneauth1 import exceptions as ks_exc
import openstack.exceptions
import requests

from nova_rt import drifts
from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from stack import cloud as stack_cloud
from stack import processes

SEED = os.environ.get('NOVA_RT_CHAOS_SEED', '1' if full.WANTED else None)
ROUNDS = 5 if full.WANTED else 1
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
# Runtime and vCPUs; the period is 200 ms.
SHAPES = ((20_000, 1), (30_000, 2), (60_000, 1), (40_000, 2), (None, 1))

# Runs a command of an operator; returns its status, output and complaints.
Manage = Callable[..., tuple[int, str, str]]


class Chaos:
    """One run.

    :param image: of all servers
    :param possible: what can be done to a server, by its status
    :param manage: runs nova-rt-manage
    :param nova_manage: runs nova-manage
    """

    def __init__(self, stack: stack_cloud.Cloud, user: driver.User,
                 flavors: driver.Flavors, image: str,
                 possible: dict[str, Sequence[str]], manage: Manage,
                 nova_manage: Callable[..., 'subprocess.CompletedProcess[str]']) -> None:
        self._stack = stack
        self._user = user
        self._wanted = [flavors(runtime_us, vcpus=vcpus) for runtime_us, vcpus in SHAPES]
        self._image = image
        self._possible = possible
        self._manage = manage
        self._nova_manage = nova_manage
        self._chance = random.Random(int(SEED or 0))

    def run(self, kill_more: Callable[[random.Random], str | None] = lambda chance: None
            ) -> None:
        """Kill each service, then have all say the same; leave no server.

        :param kill_more: kills what else there is to kill beside a service, and names it
        :raises AssertionError: if they do not say the same in the end
        """
        with concurrent.futures.ThreadPoolExecutor(OPERATIONS) as clients:
            for name in SERVICES * ROUNDS:
                began = [clients.submit(self._ask, *operation)
                         for operation in self._operations()]
                time.sleep(self._chance.uniform(0, LONGEST_PAUSE_S))
                more = kill_more(self._chance)
                self._kill(name)
                self._stack.restart(name)
                print(name, more, [each.result() for each in began])
        self._stack.restart('nova-compute')
        self._delete_what_is_stuck()
        self._agree(drifts.Kind.PLACEMENT_LACKS, drifts.Kind.PLACEMENT_ORPHAN,
                    drifts.Kind.PLACEMENT_UNKNOWN)
        # Its exit status says that it has found something.
        print(self._nova_manage('placement', 'audit', '--delete', '--verbose').stdout)
        print(self._manage('audit', '--heal')[1])
        self._agree()
        self._user.delete_all()
        self._agree()

    def _operations(self) -> list[tuple[str, str]]:
        """Return what to do at once, each a name and what it is done to."""
        there = self._there_are()
        chosen: list[tuple[str, str]] = []
        for _ in range(OPERATIONS):
            made = sum(name == 'create' for name, _ in chosen)
            if not there or (len(there) + made < MOST_SERVERS
                             and self._chance.random() < 0.5):
                chosen.append(('create', self._chance.choice(self._wanted)))
            else:
                server, status = self._chance.choice(there)
                chosen.append((self._chance.choice(
                    self._possible.get(status, ('delete',))), server))
        return chosen

    def _there_are(self) -> list[tuple[str, str]]:
        """Return the user's servers and their status, once the API lists them."""
        def listed() -> list[list[tuple[str, str]]] | None:
            try:
                return [[(each.id, each.status)
                         for each in self._user.cloud.compute.servers()]]
            except ANSWERS:
                return None
        (servers,) = driver.until(listed, 'the API answers')
        return sorted(servers)

    def _ask(self, name: str, subject: str) -> str:
        """Do one thing; return its name, and how it was refused if it was."""
        compute = self._user.cloud.compute
        try:
            if name == 'create':
                self._user.ask(subject, self._image)
            elif name == 'reboot':
                compute.reboot_server(subject, 'HARD')
            else:
                getattr(compute, f'{name}_server')(subject)
        except ANSWERS as answer:
            return f'{name}: {type(answer).__name__}'
        return name

    def _kill(self, name: str) -> None:
        """Kill all processes of a service at once."""
        members = self._stack.site.processes.members([name])
        assert members, f'{name} does not run'
        for pid in members:
            processes.send(pid, signal.SIGKILL)

    def _delete_what_is_stuck(self) -> None:
        """Delete servers whose task was lost with a message or a service.

        Nothing of Nova's would ever go on with it. An operator would do so too,
        or reset their state.
        """
        for server, _ in self._there_are():
            try:
                driver.until(lambda server=server: self._user.at_rest(server),
                             f'server {server} comes to rest', AT_REST_S)
            except openstack.exceptions.NotFoundException:
                pass  # It was being deleted.
            except TimeoutError:
                print(f'stuck: {server}')
                self._user.delete(server)

    def _agree(self, *but: drifts.Kind) -> None:
        """Assert that an audit finds nothing, once all have caught up.

        :param but: kinds of drift that there may be
        """
        def audited() -> bool:
            status, printed, trouble = self._manage('audit')
            assert status in (0, 1), trouble
            found.append([drift for drift in json.loads(printed)
                          if drift['kind'] not in but])
            return not found[-1]
        found: list[list[dict[str, object]]] = []
        try:
            driver.until(audited, 'all say the same', pause=1)
        except TimeoutError:
            assert found[-1] == []
