# SPDX-License-Identifier: Apache-2.0
"""Servers that are stopped for more critical ones. Nova's services are real; libvirt and the
kernel's budgets are stand-ins, and so is what hears of misses.
"""

import dataclasses
import errno
import time
from unittest import mock

from nova.compute import api as compute_api
from oslo_db import exception as db_exception
import pytest

from nova_rt import bandwidth
from nova_rt import closing
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import kinds
from nova_rt.compute import evictions
from nova_rt.instance import eviction
from nova_rt.reaction import records
from nova_rt.reaction import threshold
from nova_rt.testing import cloud

AFTER = threshold.Threshold(2, 60.0)


class EvictingTestCase(cloud.CloudTestCase):
    """A host that stops servers for others, and what tests do with it."""

    def setUp(self):
        super().setUp()
        self.flags(hear_misses=True, lend_after_misses=2, miss_window=60.0, lend_for=600.0,
                   evict_on_misses=True, group='rt')
        # The processes of the stand-ins for containers are none, and miss nothing.
        self.stub_out('nova_rt.reaction.ears.LISTEN', {
            kinds.Kind.CONTAINER: lambda *args: True})
        self.stub_out('nova_rt.monitor.watcher.Watcher.hears', lambda *args: True)
        # Nobody else waits here.
        self.stub_out('nova_rt.compute.relief._REST', 0)
        self.start('host1')

    def server(self, percents, letter=None, vcpus=cloud.PCPUS, least_percents=None, **kwargs):
        return self.boot(self.make_flavor(percents, vcpus, **{
            name: value for name, value in (
                (criticality.EXTRA_SPEC, letter),
                (elastic.EXTRA_SPEC, least_percents and str(least_percents * 1000))) if value}),
            **kwargs)

    @property
    def manager(self):
        return self.computes['host1'].manager

    @property
    def reactor(self):
        return self.manager._reactions._reactor

    def miss(self, server):
        """Have the reactor help a server as when it has missed too many deadlines."""
        self.reactor.look_again()
        number = self.manager.driver.running()[server['id']].pid
        self.eventually(lambda: self.assertEqual(
            number, self.reactor._known.get(server['id'])))
        self.reactor._help(server['id'], AFTER)

    def may_press(self, server):
        """Let the time be over after which more is done for one that has something on loan."""
        self.reactor._helped[server['id']] = dataclasses.replace(
            self.reactor._helped[server['id']], press_s=0.0)

    def press(self, server):
        """Have one that has something on loan go on missing deadlines."""
        self.may_press(server)
        self.miss(server)

    def evict(self):
        return self.manager.evictions.evict(self.critical['id'], cloud.CAP, time.monotonic())

    def end_loan(self, server):
        self.manager.driver.reservations.give_back(
            self.manager.driver.running()[server['id']].pid)
        self.reactor._helped.clear()

    def pass_time(self):
        """Let all be as when the time of each eviction is over."""
        self.until(0)

    def until(self, time_s):
        for server, mark in list(self.manager.rt.evicted.items()):
            instance = self.instance_of({'id': server})
            eviction.put(instance, dataclasses.replace(mark, until_s=int(time_s)))
            instance.save()
        self._run_periodics()

    def look(self):
        self.manager._look_after_evicted(self.cell_context())

    def state(self, server):
        return self.api.get_server(server['id'])['status']

    def is_eventually(self, server, state):
        self.eventually(lambda: self.assertEqual((state, None), (
            self.state(server), self.instance_of(server).task_state)))

    def has(self, server):
        """Return what a server has in the kernel, by pCPU in percent."""
        return [bandwidth.percent(each) for each in self.kernel_of(
            self.computes['host1']).bandwidths(f'machine/{server["id"]}')]

    def told(self, server, action='rt_evict'):
        actions = self.api.api_get(
            f'servers/{server["id"]}/os-instance-actions').body['instanceActions']
        return [each['message'] for each in actions if each['action'] == action]

    def evicted(self, misser, victim):
        """Let a server miss until another is stopped and it has what that held."""
        self.miss(misser)
        self.is_eventually(victim, 'SHUTOFF')
        self.eventually(lambda: self.assertTrue(self.may_ask(misser)))
        self.miss(misser)

    def may_ask(self, server):
        """Return whether the reactor knows that there is more room."""
        helped = self.reactor._helped.get(server['id'])
        return helped is None or not helped.until_s


class EvictionsTestCase(EvictingTestCase):

    def setUp(self):
        super().setUp()
        self.critical = self.server(40, 'C')
        self.lesser = self.server(55, 'A')

    def test_the_less_critical_one_is_stopped_and_what_it_held_is_lent(self):
        self.evicted(self.critical, self.lesser)
        self.assertEqual(['90%'] * cloud.PCPUS, self.has(self.critical))
        # Ledger and Placement have all reservations.
        self.assert_ledgers([95] * cloud.PCPUS)
        self.assertEqual(4 * (bandwidth.to_bandwidth(40, 100) + bandwidth.to_bandwidth(55, 100)),
                         self.allocated_on('host1'))
        self.assert_audited()

    def test_both_users_see_why(self):
        self.evicted(self.critical, self.lesser)
        until = closing.clock(self.manager.rt.closed_until())
        self.assertEqual([
            'A more critical server on its CPUs misses deadlines, and nothing else helps: this '
            f'one is stopped ([rt] evict_choice = share). It is started again after {until}, '
            'when the other has nothing on loan any more; or start it yourself.'],
            self.told(self.lesser))
        self.assertEqual([
            'It misses deadlines, and nothing else helps: a less critical server on its CPUs '
            'is stopped, so that what that one held can be lent.'], self.told(self.critical))

    def test_it_is_started_again_after_the_loan(self):
        self.evicted(self.critical, self.lesser)
        self.look()
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.pass_time()
        self.look()
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.assertEqual('90%', self.has(self.critical)[0])
        self.end_loan(self.critical)
        time.sleep(0.1)
        self.look()
        self.is_eventually(self.lesser, 'ACTIVE')
        self.assertEqual('55%', self.has(self.lesser)[0])
        self.assertEqual('40%', self.has(self.critical)[0])
        self.assertEqual(
            'It is started again: the server for which it was stopped has nothing on loan any '
            'more.', self.told(self.lesser)[0])
        self.look()
        self.assertNotIn(eviction.MARK, self.instance_of(self.lesser).system_metadata)
        self.assert_audited()

    def test_it_is_started_again_though_the_other_has_gone(self):
        self.evicted(self.critical, self.lesser)
        self._delete_server(self.critical)
        self.pass_time()
        self.look()
        self.is_eventually(self.lesser, 'ACTIVE')

    def test_whoever_starts_it_has_its_reservation_at_once(self):
        self.evicted(self.critical, self.lesser)
        self._start_server(self.lesser)
        self.assertEqual('55%', self.has(self.lesser)[0])
        self.assertEqual('40%', self.has(self.critical)[0])
        self.assert_audited()

    def test_what_its_user_stops_later_stays_stopped(self):
        self.evicted(self.critical, self.lesser)
        self._start_server(self.lesser)
        self._stop_server(self.lesser)
        self.stays_stopped()

    def test_what_its_user_rebuilds_while_it_is_stopped_stays_so(self):
        self.evicted(self.critical, self.lesser)
        self.api.post_server_action(self.lesser['id'], {'rebuild': {
            'imageRef': '155d900f-4e14-4e4c-a73d-069cbf4541e6'}})
        self.eventually(lambda: self.assertIn(
            'rebuild', [each['action'] for each in self.api.api_get(
                f'servers/{self.lesser["id"]}/os-instance-actions').body['instanceActions']]))
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.stays_stopped()

    def stays_stopped(self):
        self.end_loan(self.critical)
        self.pass_time()
        self.look()
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.assertNotIn(eviction.MARK, self.instance_of(self.lesser).system_metadata)

    def test_one_that_is_locked_waits_until_it_is_unlocked(self):
        self.evicted(self.critical, self.lesser)
        self.api.post_server_action(self.lesser['id'], {'lock': None})
        self.end_loan(self.critical)
        self.pass_time()
        self.look()
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.api.post_server_action(self.lesser['id'], {'unlock': None})
        self.look()
        self.is_eventually(self.lesser, 'ACTIVE')

    def test_one_that_its_user_started_is_not_stopped_again_meanwhile(self):
        self.evicted(self.critical, self.lesser)
        self._start_server(self.lesser)
        self.assertFalse(self.evict())
        self.pass_time()
        self.look()
        self.assertTrue(self.evict())

    def test_one_that_was_locked_meanwhile_is_not_stopped(self):
        real = eviction.last_action

        def meanwhile(context, server):
            self.api.post_server_action(server, {'lock': None})
            return real(context, server)
        with mock.patch.object(eviction, 'last_action', meanwhile):
            self.assertFalse(self.evict())
        self.assertEqual('ACTIVE', self.state(self.lesser))

    def test_a_wrong_clock_does_not_keep_the_host_closed(self):
        self.evicted(self.critical, self.lesser)
        self.until(time.time() + 30 * 86400)
        self.assertIsNone(self.manager.rt.closed_until())
        self.end_loan(self.critical)
        self.look()
        self.is_eventually(self.lesser, 'ACTIVE')

    def test_it_stays_stopped_for_as_long_as_misses_are_counted(self):
        self.flags(evict_for=1.0, miss_window=200.0, group='rt')
        self.assertTrue(self.evict())
        self.assertGreater(self.manager.rt.closed_until(), time.time() + 100)

    def test_one_that_has_left_is_no_trouble(self):
        self.evicted(self.critical, self.lesser)
        instance = self.instance_of(self.lesser)
        instance.host = 'another'
        instance.save()
        with mock.patch.object(evictions.LOG, 'warning') as warn:
            self.look()
        warn.assert_not_called()
        self.assertEqual({}, self.manager.rt.evicted)

    def test_one_that_is_deleted_leaves_nothing(self):
        self.evicted(self.critical, self.lesser)
        self._delete_server(self.lesser)
        self._run_periodics()
        self.look()
        self.assertEqual({}, self.manager.rt.evicted)
        self.assertIsNone(self.manager.rt.closed_until())
        self.assertEqual('90%', self.has(self.critical)[0])
        self.assert_audited()

    def test_one_that_is_shelved_is_not_started(self):
        self.flags(shelved_offload_time=0)
        self.evicted(self.critical, self.lesser)
        self._shelve_server(self.lesser, expected_state='SHELVED_OFFLOADED')
        self.pass_time()
        self.look()
        self.assertEqual('SHELVED_OFFLOADED', self.state(self.lesser))

    def test_a_kernel_that_refuses_is_asked_again(self):
        self.evicted(self.critical, self.lesser)
        self.end_loan(self.critical)
        self.pass_time()
        kernel = self.kernel_of(self.computes['host1'])
        kernel.refuse_containers = errno.EINVAL
        self.look()
        self.eventually(lambda: self.assertEqual(2, len(self.told(self.lesser))))
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.look()
        self.is_eventually(self.lesser, 'SHUTOFF')
        kernel.refuse_containers = None
        self.look()
        self.is_eventually(self.lesser, 'ACTIVE')
        # It is told once.
        self.assertEqual(2, len(self.told(self.lesser)))
        self.assert_audited()


class HostTestCase(EvictingTestCase):
    """While the time of an eviction lasts."""

    def setUp(self):
        super().setUp()
        self.start('host2')
        # Where the servers to come are not.
        self.set_service('host2', 'disabled')
        self.critical = self.server(40, 'C', 1)
        self.lesser = self.server(55, 'A')
        self.evicted(self.critical, self.lesser)
        self.set_service('host2', 'enabled')

    def set_service(self, host, status):
        service, = self.admin_api.get_services(host=host, binary='nova-compute')
        self.admin_api.put_service(service['id'], {'status': status})

    def host_of(self, server):
        return self.admin_api.get_server(server['id'])['OS-EXT-SRV-ATTR:host']

    def test_the_scheduler_passes_it_by_and_then_again_not(self):
        self.assertEqual(['host2'] * 3, [
            self.host_of(self.server(5, vcpus=1)) for _ in range(3)])
        self.set_service('host2', 'disabled')
        sentence = ('host1 takes no new servers until '
                    f'{closing.clock(self.manager.rt.closed_until())}, as servers on it missed '
                    'deadlines.')
        refused = self.server(5, vcpus=1, state='ERROR')
        self.assertIn(sentence, refused['fault']['message'])
        self.pass_time()
        self.assertEqual('host1', self.host_of(self.server(5, vcpus=1)))

    def test_the_claim_refuses_what_is_forced(self):
        refused = self.forced(self.make_flavor(5, 1), 'ERROR')
        self.assertIn('host1 takes no new servers until', refused['fault']['message'])
        # It has no reservation.
        self.forced(self._create_flavor(vcpu=1, memory_mb=64, disk=1), 'ACTIVE')
        self.pass_time()
        self.forced(self.make_flavor(5, 1), 'ACTIVE')

    def forced(self, flavor, state):
        body = self._build_server(flavor_id=flavor, networks='none', az='nova:host1')
        return self._wait_for_state_change(
            self.admin_api.post_server({'server': body}), state)

    def test_what_is_there_is_not_kept_away(self):
        self._rebuild_server(self.critical, '155d900f-4e14-4e4c-a73d-069cbf4541e6')
        self.flags(allow_resize_to_same_host=True)
        self._resize_server(self.critical, self.make_flavor(
            35, 1, **{criticality.EXTRA_SPEC: 'C'}))
        self._confirm_resize(self.critical)
        self.assertEqual('host1', self.host_of(self.critical))
        self._stop_server(self.critical)
        self._start_server(self.critical)

    def test_a_restart_keeps_it_closed(self):
        until_s = self.manager.rt.closed_until()
        self.assertGreater(until_s, time.time())
        self.start('host1')
        self.assertEqual(until_s, self.manager.rt.closed_until())
        node, = self.manager.rt.compute_nodes.values()
        self.assertEqual(str(until_s), node.stats[closing.STAT])


class ChoiceTestCase(EvictingTestCase):
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
        with mock.patch.object(self.manager.rt, 'relieve', _away):
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
        with mock.patch.object(self.manager.driver, 'power_off', _away):
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


class FaultsTestCase(EvictingTestCase):
    """What is cut off is not left half done."""

    def setUp(self):
        super().setUp()
        self.critical = self.server(40, 'C')
        self.lesser = self.server(55, 'A')

    def is_stopped_and_started_again(self):
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.assertIsNotNone(self.manager.rt.closed_until())
        self.miss(self.critical)
        self.assertEqual('90%', self.has(self.critical)[0])
        self.assert_audited()
        self.end_loan(self.critical)
        self.pass_time()
        self.look()
        self.is_eventually(self.lesser, 'ACTIVE')
        self.assertEqual('55%', self.has(self.lesser)[0])
        self.assert_audited()

    def test_killed_when_it_is_marked(self):
        with mock.patch.object(compute_api.API, '_record_action_start', _killed), \
                pytest.raises(Killed):
            self.evict()
        self.start('host1')
        self.is_stopped_and_started_again()

    def test_killed_when_it_is_stopped_and_nobody_knows(self):
        with mock.patch.object(self.manager.rt, 'close', _killed), \
                pytest.raises(Killed):
            self.evict()
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.start('host1')
        self.is_stopped_and_started_again()

    def test_killed_when_nobody_was_told(self):
        with mock.patch.object(records, 'write', _killed), pytest.raises(Killed):
            self.evict()
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.start('host1')
        until = closing.clock(self.manager.rt.closed_until())
        for _ in range(2):
            self.look()
            sentence, = self.told(self.lesser)
            self.assertIn(f'this one is stopped ([rt] evict_choice = share). It is started again '
                          f'after {until}', sentence)

    def test_a_stop_of_which_the_message_is_lost_is_ordered_again(self):
        with mock.patch.object(self.manager.compute_api.compute_rpcapi, 'stop_instance'):
            self.assertTrue(self.evict())
        self.look()
        self.assertEqual('powering-off', self.instance_of(self.lesser).task_state)
        self.stub_out('nova_rt.compute.evictions._LOST_S', 0.0)
        self.look()
        self.is_stopped_and_started_again()

    def test_killed_when_it_is_to_be_started(self):
        self.assertTrue(self.evict())
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.pass_time()
        with mock.patch.object(compute_api.API, '_record_action_start', _killed), \
                pytest.raises(Killed):
            self.look()
        self.start('host1')
        self.is_eventually(self.lesser, 'ACTIVE')
        self.look()
        self.assertNotIn(eviction.MARK, self.instance_of(self.lesser).system_metadata)
        self.assert_audited()

    def test_killed_when_it_is_started_and_the_mark_is_there(self):
        self.assertTrue(self.evict())
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.pass_time()
        self.look()
        self.is_eventually(self.lesser, 'ACTIVE')
        self.start('host1')
        self._stop_server(self.lesser)
        self.look()
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.assertNotIn(eviction.MARK, self.instance_of(self.lesser).system_metadata)

    def test_a_database_that_goes_away_when_it_is_marked(self):
        with mock.patch.object(compute_api.API, '_record_action_start', _away), \
                pytest.raises(db_exception.DBConnectionError):
            self.evict()
        self.assertEqual('powering-off', self.instance_of(self.lesser).task_state)
        self.look()
        self.is_stopped_and_started_again()

    def test_a_database_that_goes_away_before(self):
        for name in ('objects.InstanceList.get_by_host', 'objects.Instance.save'):
            with mock.patch(f'nova.{name}', _away), \
                    pytest.raises(db_exception.DBConnectionError):
                self.evict()
            self.look()
            self.is_eventually(self.lesser, 'ACTIVE')
            self.assertNotIn(eviction.MARK, self.instance_of(self.lesser).system_metadata)

    def test_a_container_that_cannot_be_stopped_runs_on(self):
        with mock.patch.object(self.manager.driver, 'power_off', _away):
            self.assertTrue(self.evict())
            self.is_eventually(self.lesser, 'ACTIVE')
        self.pass_time()
        self.look()
        self.assertNotIn(eviction.MARK, self.instance_of(self.lesser).system_metadata)
        self.assertEqual('55%', self.has(self.lesser)[0])
        self.assert_audited()

    def test_one_that_its_user_was_faster_to_stop(self):
        real = eviction.last_action

        def meanwhile(context, server):
            after = real(context, server)
            self._stop_server(self.lesser)
            return after
        with mock.patch.object(eviction, 'last_action', meanwhile):
            self.assertFalse(self.evict())
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.pass_time()
        self.look()
        self.is_eventually(self.lesser, 'SHUTOFF')


class Killed(BaseException):
    """The service has been killed."""


def _killed(*args, **kwargs):
    raise Killed


def _away(*args, **kwargs):
    raise db_exception.DBConnectionError
