# SPDX-License-Identifier: Apache-2.0
"""Servers miss deadlines, are lent what is free, shrunk, moved and stopped for each other, users
and operators do what they do, and the service is killed, and refused by kernel, database,
Placement and disk, anywhere, in any order.

After each step nobody critical has less than a reservation, and no pCPU is promised twice. At
the end of each sequence all loans are given back, all servers run whose users want it, with
what they have reserved, and Nova, Placement, kernel and ledger agree.

NOVA_RT_REACTIONS_SEQUENCES is how many sequences there are (10; with FULL=1, 250), and
NOVA_RT_REACTIONS_SEED the first one's seed. Each begins with the cloud as it was at first.
"""

import os
import random
import threading
import time

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import ledger
from nova_rt.reaction import counts
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.testing import retries
from nova_rt.tests.functional import reacting
from nova_rt.tests.functional.messages import Away

pytestmark = retries.ONCE

SEQUENCES = int(os.environ.get(
    'NOVA_RT_REACTIONS_SEQUENCES', '250' if full.WANTED else '10'))
SEED = int(os.environ.get('NOVA_RT_REACTIONS_SEED', '1'))
# Of one cloud, which takes seconds to start, and keeps what its services log.
AT_ONCE = 100
STEPS = (10, 20)
FAULTS = 0.12
# What a service still does, or calls, before the fault.
LAST_STEPS = 40
LAST_CALLS = 8
ROUNDS = 4
KILL = 'kill'
EVERY_FAULT = (KILL, KILL, Away.KERNEL, Away.NOTES, Away.DATABASE, Away.PLACEMENT)
# By act, how often it happens, and what may fail meanwhile.
ACTS = {
    'miss': (60, EVERY_FAULT), 'wait': (30, EVERY_FAULT), 'look': (5, EVERY_FAULT),
    'minute': (3, EVERY_FAULT), 'change': (1.5, EVERY_FAULT), 'move': (1.5, EVERY_FAULT),
    'stop_or_start': (2, (KILL,)), 'reboot_or_lock': (2, ()), 'stop_service': (0.3, ()),
    'resize': (0.15, ()), 'replace': (0.15, ())}
# What is done by messages, in threads of their own.
BY_MESSAGE = ('change', 'move', 'stop_or_start')


class AnyOrderOfReactions(reacting.ReactingCloud):

    def sequence(self, seed):
        self.random = random.Random(seed)
        self.focus = self.random.choice(reacting.HOSTS)
        self.steps = []
        self.faultless = True
        for _ in range(self.random.randint(*STEPS)):
            self.step()
        self.come_to_an_end()
        self.assert_all_agree()
        self.restore()

    def step(self):
        act, = self.random.choices(list(ACTS), [often for often, _ in ACTS.values()])
        fault = None
        if ACTS[act][1] and self.random.random() < FAULTS:
            fault = self.random.choice(ACTS[act][1])
            self.break_off(act, fault)
        self.steps.append(act if fault is None else f'{act} ({fault})')
        self.done[act] += 1
        getattr(self, act)()
        self.rest()
        self.mend(fault)
        if act == 'change':
            # Its end, after a fault, changes a reservation as well.
            self.kernel_forgets()
        self.assert_no_harm()

    # Faults

    def break_off(self, act, fault):
        """Let a service die, or what it calls fail, in the course of an act."""
        self.faultless = False
        manager = self.manager(self.focus)
        if fault is KILL:
            self.messages.kill(manager, int(LAST_STEPS ** self.random.random()))
        else:
            # Nova's own way to deal with a fault is Nova's.
            self.messages.fail(
                manager, fault, int(LAST_CALLS ** self.random.random()) - 1,
                None if act in BY_MESSAGE else threading.get_ident())

    def mend(self, fault):
        manager = self.manager(self.focus)
        if fault is KILL:
            if not self.messages.spare(manager):
                self.done['killed'] += 1
                self.restart(self.focus)
                self.finish_changes()
        elif fault is not None and self.messages.mend(manager):
            self.done[f'failed: {fault.name}'] += 1
            self.finish_changes()

    # What must hold after each step

    def assert_no_harm(self):
        for host in reacting.HOSTS:
            self.assertEqual([], self.kernel(host).overcommits)
        rows = self.with_rows()
        for host in reacting.HOSTS:
            noted = {each.group: each for each in self.shrinks_on(host)}
            here = [(server, row) for server, row in rows if row.host == host]
            for server, row in here:
                if not (row.task_state or row.changing):
                    self.assert_as_its_user_wants(server, row)
                    self.assert_has_what_it_may(host, server, row, noted)
            self.assert_ledger_is_that_of(host, here)

    def assert_as_its_user_wants(self, server, row):
        if server.what.letter in ('C', None):
            self.assertIsNone(row.mark)
            self.assertEqual('active' if server.runs else 'stopped', row.vm_state)
        elif not server.runs:
            self.assertEqual('stopped', row.vm_state)

    def assert_has_what_it_may(self, host, server, row, noted):
        """Assert that a server has what it reserved, unless it is noted what else, and why."""
        group = f'machine/{server.id}'
        runs = self.kernel(host).exists(group)
        self.assertEqual(row.vm_state == 'active', runs, server)
        if not runs:
            return
        pcpus = ledger.from_mask(row.pcpus)
        has = self.kernel(host).bandwidths(group)
        self.assertEqual([], [pcpu for pcpu, each in enumerate(has)
                              if each and pcpu not in pcpus], server)
        least, most = min(has[pcpu] for pcpu in pcpus), max(has)
        if least < server.own:
            self.assert_may_be_shrunk(server, least, noted.get(group))
        if most > server.own:
            self.assertIn(group, [loan.group for loan in self.loans_on(host)], server)

    def assert_may_be_shrunk(self, server, least, shrink):
        self.assertIsNotNone(shrink, server)
        self.assertNotEqual('C', server.what.letter)
        self.assertIsNotNone(server.what.least, server)
        self.assertGreaterEqual(least, bandwidth.to_bandwidth(server.what.least, 100) - 1)
        borrower, = (each for each in self.servers
                     if f'machine/{each.id}' == shrink.borrower)
        self.assertGreater(_rank(borrower), _rank(server))

    def assert_ledger_is_that_of(self, host, here):
        held = [0] * cloud.PCPUS
        for server, row in here:
            for pcpu in ledger.from_mask(row.pcpus):
                held[pcpu] += server.own
        used = list(self.manager(host).rt.shares.used)
        if any(row.changing for _, row in here):
            # It holds both sides.
            self.assertLessEqual(max(used), reacting.CAP)
        else:
            self.assertEqual(held, used, host)

    # The end

    def come_to_an_end(self):
        """Let all time pass for which anything lasts, and all be done that is then due."""
        for server in self.servers:
            if server.locked:
                self.api.post_server_action(server.id, {'unlock': None})
                server.locked = False
        self.touched = {self.focus, *(
            host for host, what in zip(self.host_of, reacting.SERVERS, strict=True)
            if host != what.host)}
        for _ in range(ROUNDS):
            self.clock.sleep(reacting.LONG_S)
            for host in self.touched:
                self.go_on(host)
                if self.faultless and 'stop_service' not in self.steps:
                    # Nobody had to find out what was left, but by whom has ended.
                    self.assertEqual([], [loan for loan in self.loans_on(host)
                                          if self.kernel(host).exists(loan.group)])
                    self.assertEqual([], self.shrinks_on(host))
                if self.manager(host).rt.evicted or self.manager(host).evictions._unsure:
                    self.look_after_evicted(host)
                self.update(host)
            if not any(row.mark or row.task_state for row in self.rows()):
                return
        self.fail('It does not come to an end.')

    def assert_all_agree(self):
        for server, row in self.with_rows():
            self.assertEqual(('active' if server.runs else 'stopped', None),
                             (row.vm_state, row.task_state), server)
        # Of the other hosts, it was asserted after the last sequence there.
        for host in self.touched:
            self.assertEqual([], self.loans_on(host))
            self.assertEqual([], self.shrinks_on(host))
            self.assertEqual([], self.auditor_of(host).look())
        self.assert_no_harm()


def _rank(server):
    letter = server.what.letter
    return criticality.counted(letter and criticality.Criticality[letter])


def _test(first, count):
    def test(self):
        began_s = time.process_time()
        for seed in range(first, first + count):
            try:
                self.sequence(seed)
            except BaseException:
                print(f'NOVA_RT_REACTIONS_SEED={seed}', self.focus, self.steps, dict(self.done))
                raise
        print(f'{count} sequences in {time.process_time() - began_s:.0f} s of CPU:',
              dict(self.done), counts.counted())
        for act in ('killed', 'failed: KERNEL', 'failed: NOTES', 'failed: DATABASE'):
            self.assertTrue(self.done[act] or count < AT_ONCE, act)
    return test


for _first in range(SEED, SEED + SEQUENCES, AT_ONCE):
    _count = min(AT_ONCE, SEED + SEQUENCES - _first)
    setattr(AnyOrderOfReactions, f'test_from_seed_{_first}', _test(_first, _count))
