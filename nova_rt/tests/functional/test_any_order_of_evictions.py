# SPDX-License-Identifier: Apache-2.0
"""Servers miss deadlines, are lent what is free, shrunk and stopped for each other, their users
start, stop, lock, reboot and delete them, and the service is killed anywhere, in any order.
At the end of each sequence every server runs whose user wants it to, and no other.

NOVA_RT_EVICTIONS_SEQUENCES is how many sequences there are (4; with FULL=1, 500), and
NOVA_RT_EVICTIONS_SEED the first one's seed. Nova's services are real, on a stand-in for libvirt
and the kernel; the test hears the misses, and the clock of evictions goes when it says so.
"""

import collections
import errno
import os
import random
import time

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import errors
from nova_rt.instance import eviction
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import messages

SEQUENCES = int(os.environ.get('NOVA_RT_EVICTIONS_SEQUENCES', '500' if full.WANTED else '4'))
SEED = int(os.environ.get('NOVA_RT_EVICTIONS_SEED', '1'))
# Of a CPU, percent; letter; least runtime, percent. Together they fill the host.
SERVERS = ((20, 'C', None), (15, 'C', None), (20, 'B', None), (10, 'B', 2), (15, 'A', None),
           (10, 'A', 4), (5, None, None))
PERIOD_US = 10_000
MOST = bandwidth.fraction_to_bandwidth(0.4)
STEPS = 6
# What a service still does that is to be killed: a write, a message, a request.
LAST_STEPS = 40
PATIENCE_S = 300
ROUNDS = 8
USERS = {'os-stop': False, 'os-start': True, 'reboot': True}


class AnyOrderOfEvictions(cloud.CloudTestCase):

    def setUp(self):
        self.messages = self.useFixture(messages.Messages())
        super().setUp()
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.flags(manager_shutdown_timeout=0, rpc_response_timeout=PATIENCE_S)
        self.flags(shrink_elastic=True, evict_on_misses=True, group='rt')
        self.start('host1')
        self.flavors = [self.flavor(*each) for each in SERVERS]
        self.servers = [self.boot(flavor) for flavor in self.flavors]
        # By place in these, whether its user wants it to run.
        self.wanted = [True] * len(SERVERS)
        self.locked = set()
        self.done = collections.Counter()
        self.addCleanup(lambda: self.messages.kill(self.manager))

    def flavor(self, percents, letter, least):
        return self.make_flavor(percents, cloud.PCPUS, PERIOD_US, **{
            name: value for name, value in (
                (criticality.EXTRA_SPEC, letter),
                (elastic.EXTRA_SPEC, least and str(PERIOD_US * least // 100))) if value})

    @property
    def manager(self):
        return self.computes['host1'].manager

    @property
    def kernel(self):
        return self.kernel_of(self.computes['host1'])

    def rest(self):
        self.assertTrue(self.messages.rest(PATIENCE_S))

    def as_service(self, call):
        """Do something as a thread of the service does, which may be killed."""
        manager = self.manager
        with self.messages.as_service(manager):
            try:
                return call()
            except killed.Killed:
                return None

    # What happens

    def miss(self):
        """Have one that runs miss too many deadlines: it is lent something, or one is stopped."""
        number = self.random.randrange(len(SERVERS))
        if self.random.random() < 0.5:
            number = self.random.randrange(2)
        server = self.servers[number]['id']
        self.as_service(lambda: self.help(server))

    def help(self, server):
        asked_s = time.monotonic()
        container = self.manager.driver.running().get(server)
        if container is None:
            return
        try:
            lent = self.manager.driver.reservations.lend(
                container.pid, MOST, time.monotonic() + 600, shrink=True)
        except errors.NovaRTError:
            self.done['refused loan'] += 1
            return
        self.done['loan' if lent else 'no loan'] += 1
        if (min(lent.values(), default=0) < MOST
                and self.manager.evictions.evict(server, MOST, asked_s)):
            self.done['eviction'] += 1

    def use(self):
        """Have a user do something."""
        number = self.random.randrange(len(SERVERS))
        name = self.random.choice((*USERS, 'lock', 'unlock'))
        body = {name: {'type': 'HARD'} if name == 'reboot' else None}
        status = self.api.api_post(
            f'/servers/{self.servers[number]["id"]}/action', body,
            check_response_status=[202, 403, 409]).status
        self.done[f'{name} {status}'] += 1
        if status != 202:
            return
        if name in USERS:
            self.wanted[number] = USERS[name]

    def delete(self):
        number = self.random.randrange(len(SERVERS))
        self.api.post_server_action(self.servers[number]['id'], {'unlock': None})
        self._delete_server(self.servers.pop(number))
        # So that the host takes a new one.
        self.pass_time()
        self.rest()
        self.servers.insert(number, self.boot(self.flavors[number]))
        self.wanted[number] = True
        self.done['delete'] += 1

    def give_back(self):
        for server, container in self.manager.driver.running().items():
            if self.random.random() < 0.5 or server == self.servers[0]['id']:
                self.manager.driver.reservations.give_back(container.pid)

    def pass_time(self):
        """Let the time of each eviction be over."""
        for server in self.servers:
            instance = self.instance_of(server)
            mark = eviction.mark_of(instance)
            if mark is not None and instance.task_state is None:
                eviction.put(instance, eviction.Mark(
                    mark.misser, 0, mark.node, mark.request, mark.after, mark.again))
                instance.save(expected_task_state=[None])
        self._run_periodics()

    def look(self):
        if self.random.random() < 0.5:
            self.pass_time()
        self.as_service(lambda: self.manager._look_after_evicted(self.cell_context()))

    def step(self):
        act = self.random.choices(
            (self.miss, self.use, self.look, self.give_back, self.delete),
            (10, 5, 4, 1, 0.3))[0]
        dies = act in (self.miss, self.look) and self.random.random() < 0.15
        if dies:
            self.messages.kill(self.manager, int(LAST_STEPS ** self.random.random()))
        refused = act in (self.miss, self.look) and self.random.random() < 0.1
        if refused:
            self.kernel.refuse_next = errno.EINVAL
            self.done['refusal'] += 1
        act()
        self.rest()
        if dies and not self.messages.spare(self.manager):
            self.done['killed'] += 1
            self.restart()
        self.kernel.refuse_next = None
        self.assert_no_harm()

    def restart(self):
        self.messages.kill(self.manager)
        self.kernel.refuse_next = None
        self.start('host1')
        self.rest()

    # What must hold

    def assert_no_harm(self):
        """Assert that nobody is stopped who may not be."""
        for number, server in enumerate(self.servers):
            instance = self.instance_of(server)
            if SERVERS[number][1] in ('C', None):
                self.assertNotIn(eviction.MARK, instance.system_metadata)
                self.assertEqual(
                    'active' if self.wanted[number] else 'stopped', instance.vm_state)
            elif not self.wanted[number]:
                self.assertEqual('stopped', instance.vm_state)

    def come_to_an_end(self):
        for server in self.servers:
            self.api.post_server_action(server['id'], {'unlock': None})
        for _ in range(ROUNDS):
            for container in self.manager.driver.running().values():
                self.manager.driver.reservations.give_back(container.pid)
            self.pass_time()
            self.manager._look_after_evicted(self.cell_context())
            self.rest()
            if not any(eviction.MARK in self.instance_of(each).system_metadata
                       for each in self.servers):
                return
        self.fail('Marks are left.')

    def assert_as_wanted(self):
        for number, server in enumerate(self.servers):
            instance = self.instance_of(server)
            self.assertEqual(
                ('active' if self.wanted[number] else 'stopped', None),
                (instance.vm_state, instance.task_state), (number, server['id']))
        self._run_periodics()
        self.assertEqual(
            {f'machine/{server["id"]}': bandwidth.percent(bandwidth.to_bandwidth(percents, 100))
             for server, (percents, _, _), wanted in zip(
                 self.servers, SERVERS, self.wanted, strict=True) if wanted},
            {group: bandwidth.percent(min(self.kernel.bandwidths(group)))
             for group in self.kernel.children('machine')})
        self.assertEqual(['95%'] * cloud.PCPUS, self.used_on(self.computes['host1']))
        self.assertEqual([], self.auditor_of('host1').look())

    def sequence(self, seed):
        self.random = random.Random(seed)
        for _ in range(STEPS):
            self.step()
        self.come_to_an_end()
        self.assert_as_wanted()

    def test_all_run_whose_users_want_it_and_no_others(self):
        for seed in range(SEED, SEED + SEQUENCES):
            try:
                self.sequence(seed)
            except BaseException:
                print(f'NOVA_RT_EVICTIONS_SEED={seed}', dict(self.done))
                raise
            if (seed - SEED) % 10 == 9:
                print(seed - SEED + 1, dict(self.done), flush=True)
        print(SEQUENCES, 'sequences:', dict(self.done))
        self.assertGreater(self.done['eviction'], SEQUENCES // 4)
