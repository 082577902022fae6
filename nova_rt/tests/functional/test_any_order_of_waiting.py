# SPDX-License-Identifier: Apache-2.0
"""Servers are asked for and deleted, wait, take the room of elastic ones, users change these,
and the conductor is killed anywhere, in any order.

At no time has anybody less than the least, or a host more than it can hold. At the end of each
sequence everybody has back what was taken, and nothing is left of those who are deleted.

NOVA_RT_WAITING_SEQUENCES is how many sequences there are (1; with FULL=1, 200), and
NOVA_RT_WAITING_SEED the first one's seed. Nova's services are real, on a stand-in for libvirt and
the kernel.
"""

import collections
import contextlib
import dataclasses
import os
import random
from unittest import mock

from nova import exception
from nova import objects
from nova.conductor import manager as nova_conductor
from nova.scheduler.client import report

from nova_rt import bandwidth
from nova_rt import elastic
from nova_rt import reservation
from nova_rt.instance import compute_call
from nova_rt.instance import flavors
from nova_rt.instance import hint_update
from nova_rt.instance import preempted
from nova_rt.instance import waiting
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.testing import retries
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import waiting_case

pytestmark = retries.ONCE

SEQUENCES = int(os.environ.get('NOVA_RT_WAITING_SEQUENCES', '200' if full.WANTED else '1'))
SEED = int(os.environ.get('NOVA_RT_WAITING_SEED', '1'))
STEPS = 12
# Of a CPU, percent; letter; least runtime, percent.
ASKED = ((40, 'A', 10), (30, 'A', 20), (40, 'B', 15), (50, 'B', None), (60, 'C', None),
         (50, 'C', 30), (30, None, 10))
# Where a conductor is killed, before or after it.
STEPS_OF_OURS = (
    (waiting, 'change'), (waiting, 'end'), (hint_update, '_call'), (hint_update, '_store'),
    (hint_update, '_finish'), (nova_conductor.ComputeTaskManager, '_schedule_instances'),
    (nova_conductor.ComputeTaskManager, '_map_instance_to_cell'),
    (report.SchedulerReportClient, 'delete_allocation_for_instance'))


class AnyOrderOfWaiting(waiting_case.WaitingCase):

    def setUp(self):
        super().setUp()
        self.flags(preempt='elastic', group='rt')
        for host in ('one', 'two'):
            self.start(host, (cloud.CAP,))
        self.flavors = [self.flavor_of(percent, letter, **(
            {} if least is None else {elastic.EXTRA_SPEC: str(least * 1000)}))
            for percent, letter, least in ASKED]
        self.done = collections.Counter()

    def applied_on(self, compute):
        """See base class; a parent's runtime is a whole number of microseconds."""
        kernel = self.kernel_of(compute)
        groups = [kernel.bandwidths(group) for group in kernel.children('machine')]
        total = [sum(each) for each in zip(*groups, strict=True)] or [0]
        if kernel.exists('machine'):
            parent = kernel.bandwidths('machine')
            self.assertLessEqual(max(abs(has - all_) for has, all_ in zip(
                parent, total, strict=True)), len(groups) + 1)
        return [bandwidth.percent(each) for each in total]

    def test_any_order(self):
        for seed in range(SEED, SEED + SEQUENCES):
            self.random = random.Random(seed)
            # By server: which it is, and the runtime that its user wants, in percent.
            self.servers, self.wanted = {}, {}
            try:
                for number in (0, 2, 4, 5):
                    self.asks(number)
                for _ in range(STEPS):
                    self.random.choice((
                        self.asks, self.deletes, self.sweeps, self.is_killed, self.is_killed,
                        self.is_killed, self.changes))()
                    self.check()
                self.ends()
            except BaseException:
                print(f'NOVA_RT_WAITING_SEED={seed}')
                raise
        print(dict(self.done))

    def asks(self, number=None):
        if number is None:
            number = self.random.randrange(len(ASKED))
        server = self.api.post_server({'server': self._build_server(
            flavor_id=self.flavors[number], networks='none')})
        self.servers[server['id']], self.wanted[server['id']] = number, ASKED[number][0]
        self.eventually(lambda: self.assertTrue(
            server['id'] in self.waiting() or self.state(server['id']) != 'BUILD'))
        self.done['asked'] += 1

    def deletes(self):
        if self.servers:
            server = self.random.choice(sorted(self.servers))
            self._delete_server({'id': server})
            del self.servers[server]
            self.done['deleted'] += 1

    def changes(self):
        """Let a user choose another reservation."""
        there = [server for server in sorted(self.servers) if self.state(server) == 'ACTIVE'
                 and ASKED[self.servers[server]][2] is not None]
        if not there:
            return
        server = self.random.choice(there)
        _, _, least = ASKED[self.servers[server]]
        percent = self.random.randint(least, 60)
        with contextlib.suppress(compute_call.RefusedError):
            hint_update.change(self.admin, server, reservation.Times(percent * 1000), cloud.CAP)
            self.wanted[server] = percent
            self.done['changed'] += 1

    def sweeps(self):
        self.manager.queue._tried.clear()
        before = set(self.waiting())
        self.sweep()
        self.settles()
        self.done['left the queue'] += len(before - set(self.waiting()))

    def is_killed(self):
        """Kill the conductor at one of its steps, and have another find that."""
        target, name = self.random.choice(STEPS_OF_OURS)
        left, after = self.random.randint(1, 2), self.random.random() < 0.5
        real = getattr(target, name)

        def dies(*args, **kwargs):
            nonlocal left
            left -= 1
            if left:
                return real(*args, **kwargs)
            if after:
                real(*args, **kwargs)
            self.done[f'killed {"after" if after else "before"} {name}'] += 1
            raise killed.Killed

        self.manager.queue._tried.clear()
        with mock.patch.object(target, name, dies), contextlib.suppress(killed.Killed):
            self.sweep()
        for each in waiting.everyone(self.admin):
            if each.mark.holder:
                waiting.change(self.admin, each, dataclasses.replace(
                    each.mark, held_until_s=0.0))
        self.settles()

    def state(self, server):
        return self.admin_api.get_server(server)['status']

    def settles(self):
        """Wait until the hosts have done what they were told."""
        def is_built():
            for server in self.servers:
                with contextlib.suppress(exception.InstanceNotFound):
                    mapping = objects.InstanceMapping.get_by_instance_uuid(self.admin, server)
                    if mapping.cell_mapping is not None and not mapping.cell_mapping.is_cell0():
                        instance = self.instance_of({'id': server})
                        self.assertFalse(instance.vm_state == 'building' and instance.host)
                        # One that was killed before it told a host stays so.
        self.eventually(is_built)

    def check(self):
        for server, number in self.servers.items():
            if self.state(server) != 'ACTIVE':
                continue
            instance = self.instance_of({'id': server})
            percent = flavors.reservation_of(instance.flavor).runtime_us / 1000
            least = ASKED[number][2]
            assert percent >= (ASKED[number][0] if least is None else least)
            if percent < self.wanted[server]:
                assert preempted.mark_of(instance) is not None, 'nobody knows what it had'
                assert number < 3 or number == 5, 'it gives nothing'
        for compute in self.computes.values():
            assert min(compute.manager.rt.shares.left) >= 0
            # One that is being deleted takes its part from there in two steps.
            self.eventually(lambda compute=compute: self.assertLessEqual(
                int(self.applied_on(compute)[0].rstrip('%')), 95))

    def ends(self):
        """Let all end well: those who wait go, then everybody has what they want."""
        for server in [each for each in self.servers if self.state(each) != 'ACTIVE']:
            self._delete_server({'id': server})
            del self.servers[server]
        assert self.waiting() == []

        def has_all():
            # Users may want more than there is room for, all together.
            for server in sorted(self.servers):
                self.sweep()
                instance = self.instance_of({'id': server})
                self.assertIsNone(instance.task_state)
                if preempted.mark_of(instance) is not None:
                    more = self.wanted[server] - flavors.reservation_of(
                        instance.flavor).runtime_us / 1000
                    left = self.computes[instance.host].manager.rt.shares.left[0]
                    self.assertLess(left, more * bandwidth.BW_UNIT / 100 - 1)
        self.eventually(has_all, 20)
        self.assert_settled(*({'id': server} for server in self.servers))
        shrunk = [server for server in self.servers
                  if preempted.mark_of(self.instance_of({'id': server})) is not None]
        for server in [each for each in self.servers if each not in shrunk]:
            self._delete_server({'id': server})
            del self.servers[server]

        def everybody_has():
            self.sweep()
            for server in self.servers:
                instance = self.instance_of({'id': server})
                self.assertIsNone(preempted.mark_of(instance))
                self.assertEqual(self.wanted[server] * 1000, flavors.reservation_of(
                    instance.flavor).runtime_us)
        self.eventually(everybody_has, 20)
        self.done['had it back'] += len(shrunk)
        for server in list(self.servers):
            self._delete_server({'id': server})
        self.assert_settled()
