# SPDX-License-Identifier: Apache-2.0
"""Who is stopped for whom, and who is not; see evicting."""

import time
from unittest import mock

from nova_rt import bandwidth
from nova_rt.tests.functional import evicting


class ChoiceTestCase(evicting.EvictingTestCase):
    """Who is stopped, and who never."""

    def assert_nobody(self, *servers):
        self.manager._reactions._relief.end()
        for server in servers:
            self.is_eventually(server, 'ACTIVE')
            self.assertEqual([], self.told(server))

    def miss_in_vain(self, misser, *others):
        self.miss(misser)
        self.eventually(lambda: self.assertEqual(1, len(self.told(misser, 'rt_loan'))))
        self.assert_nobody(misser, *others)

    def test_nobody_is_stopped_if_the_operator_does_not_want_it(self):
        self.flags(evict_on_misses=False, move_on_misses=True, group='rt')
        self.start('host1')
        servers = self.server(40, 'C'), self.server(55, 'A')
        self.miss_in_vain(*servers)

    def test_c_is_stopped_for_nobody(self):
        self.miss_in_vain(self.server(40, 'C'), self.server(55, 'C'))

    def test_nobody_is_stopped_for_an_equal(self):
        self.miss_in_vain(self.server(40, 'A'), self.server(55, 'A'))

    def test_one_that_says_nothing_is_not_stopped(self):
        self.miss_in_vain(self.server(40, 'C'), self.server(55))

    def test_nobody_is_stopped_for_one_that_says_nothing(self):
        self.miss_in_vain(self.server(40), self.server(55, 'A'))

    def test_one_that_is_locked_is_not_stopped(self):
        servers = self.server(40, 'C'), self.server(55, 'A')
        self.api.post_server_action(servers[1]['id'], {'lock': None})
        self.miss_in_vain(*servers)

    def test_the_least_critical_goes_first_and_one_at_a_time(self):
        critical, between, least = (
            self.server(percents, letter) for percents, letter in (
                (20, 'C'), (60, 'B'), (15, 'A')))
        self.evicted(critical, least)
        self.is_eventually(between, 'ACTIVE')
        self.assertEqual('35%', self.has(critical)[0])
        self.may_press(critical)
        self.evicted(critical, between)
        self.assertEqual('70%', self.has(critical)[0])
        self.assert_audited()

    def test_a_move_is_tried_first_though_something_is_on_loan(self):
        self.flags(move_on_misses=True, placement_policy='first-fit', group='rt')
        self.start('host1')
        critical, lesser = self.server(30, 'C', 1), self.server(64, 'A', 1)
        self.assertEqual([(0,), (0,)], [self.pcpus_of(each) for each in (critical, lesser)])
        self.miss(critical)
        self.assertEqual('31%', self.has(critical)[0])
        self.press(critical)
        self.eventually(lambda: self.assertEqual((1,), self.pcpus_of(critical)))
        self.eventually(lambda: self.assertTrue(self.may_ask(critical)))
        self.miss(critical)
        self.assertEqual('80%', self.has(critical)[1])
        self.assertEqual('ACTIVE', self.state(lesser))
        self.assert_audited()

    def test_a_move_that_fails_keeps_nobody_from_being_stopped(self):
        self.flags(move_on_misses=True, group='rt')
        self.start('host1')
        critical, lesser = self.server(40, 'C'), self.server(55, 'A')
        with mock.patch.object(self.manager.rt, 'relieve', evicting.away):
            self.evicted(critical, lesser)
        self.assertEqual('90%', self.has(critical)[0])

    def test_nobody_is_stopped_for_what_is_on_loan_already(self):
        self.flags(lend_most=0.25, group='rt')
        self.start('host1')
        critical, lesser = self.server(35, 'C'), self.server(60, 'A', least_percents=30)
        self.miss(critical)
        self.assertEqual(['60%', '35%'], [self.has(each)[0] for each in (critical, lesser)])
        self.assertFalse(self.manager.evictions.evict(
            critical['id'], bandwidth.to_bandwidth(25, 100), time.monotonic()))
        self.assert_nobody(critical, lesser)

    def test_where_a_stop_fails_the_next_one_may_be_stopped(self):
        critical, lesser, other = (
            self.server(percents, letter) for percents, letter in (
                (40, 'C'), (30, 'A'), (25, 'B')))
        with mock.patch.object(self.manager.driver, 'power_off', evicting.away):
            self.miss(critical)
            self.eventually(lambda: self.assertTrue(self.told(lesser)))
            self.is_eventually(lesser, 'ACTIVE')
        self.eventually(lambda: self.assertTrue(self.may_ask(critical)))
        self.evicted(critical, other)
        self.assertEqual('65%', self.has(critical)[0])
        self.assertEqual('ACTIVE', self.state(lesser))

    def test_whoever_else_misses_does_not_have_the_room(self):
        critical, victim, other = (
            self.server(percents, letter) for percents, letter in (
                (20, 'C'), (50, 'A'), (25, 'A')))
        self.miss(other)
        self.eventually(lambda: self.assertEqual(1, len(self.told(other, 'rt_loan'))))
        self.evicted(critical, victim)
        self.assertFalse(self.may_ask(other))
        self.miss(other)
        self.assertEqual('25%', self.has(other)[0])
        self.assertEqual('70%', self.has(critical)[0])

    def test_two_that_miss_have_one_stopped_for_both(self):
        self.flags(lend_most=0.15, group='rt')
        self.start('host1')
        first, second = self.server(20, 'C'), self.server(20, 'B')
        victim, other = self.server(30, 'A'), self.server(25, 'A')
        for misser in (first, second):
            self.miss(misser)
        self.is_eventually(victim, 'SHUTOFF')
        self.eventually(lambda: self.assertTrue(self.may_ask(first)))
        self.assertFalse(self.may_ask(second))
        # The time has passed after which it asks again.
        del self.reactor._helped[second['id']]
        for misser in (first, second):
            self.miss(misser)
        self.is_eventually(other, 'ACTIVE')
        self.assertEqual(['35%'] * 2, [self.has(each)[0] for each in (first, second)])
        self.assert_audited()
