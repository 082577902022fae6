# SPDX-License-Identifier: Apache-2.0
"""Servers that are stopped for more critical ones, and started again; see evicting."""

import errno
import time
from unittest import mock

from nova.db.api import api as api_db
from nova.db.main import api as main_db

from nova_rt import bandwidth
from nova_rt import closing
from nova_rt import criticality
from nova_rt.compute import evictions
from nova_rt.db import cells
from nova_rt.instance import eviction
from nova_rt.reaction import counts
from nova_rt.removal import cloud as removal_cloud
from nova_rt.removal import placement
from nova_rt.testing import cloud
from nova_rt.tests.functional import evicting


class EvictionsTestCase(evicting.EvictingTestCase):

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
        self.assertEqual({'loan': 1, 'shrink': 0, 'move': 0, 'stop': 1, 'start': 1},
                         counts.counted())

    def test_who_removes_nova_rt_is_told_what_is_stopped(self):
        self.evicted(self.critical, self.lesser)
        api, cell = (cells.Cell(name, str(engine.url)) for name, engine in (
            ('api', api_db.get_engine()),
            ('cell1', main_db.get_engine(context=self.cell_context()))))
        left = removal_cloud.Cloud(
            self.cell_context(), api, [cell],
            placement.Placement(self.cell_context())).left()
        self.assertEqual([f'openstack server start {self.lesser["id"]}; nova-rt-manage '
                          'uninstall clean --abandon leaves it stopped'], [
            each.remedy for each in left if 'is stopped for a more critical' in each.left])

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

    def test_a_kernel_that_refuses_is_asked_again_but_not_each_minute(self):
        self.evicted(self.critical, self.lesser)
        self.end_loan(self.critical)
        self.pass_time()
        kernel = self.kernel_of(self.computes['host1'])
        kernel.refuse_containers = errno.EINVAL
        self.look()
        self.eventually(lambda: self.assertEqual(2, len(self.told(self.lesser))))
        self.is_eventually(self.lesser, 'SHUTOFF')
        for _ in range(2):
            self.look()
            self.is_eventually(self.lesser, 'SHUTOFF')
        self.assertEqual(1, len(self.told(self.lesser, 'start')))
        kernel.refuse_containers = None
        self.manager.evictions._starts.forget(self.lesser['id'])
        self.look()
        self.is_eventually(self.lesser, 'ACTIVE')
        # It is told once.
        self.assertEqual(2, len(self.told(self.lesser)))
        self.assert_audited()


class HostTestCase(evicting.EvictingTestCase):
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
