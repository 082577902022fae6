# SPDX-License-Identifier: Apache-2.0
"""Reservations of servers that are moved, between hosts and within one."""

import contextlib
from unittest import mock

from nova.compute import rpcapi

from nova_rt.testing import cases
from nova_rt.testing import cloud
from nova_rt.testing import full


class MovesTestCase(cloud.CloudTestCase):

    HOSTS = 2

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')
        for i in range(1, self.HOSTS + 1):
            self._start_compute(f'host{i}')

    def boot_on(self, host, flavor, **kwargs):
        return self.boot(flavor, az=f'nova:{host}', **kwargs)

    def host_of(self, server):
        return self.api.get_server(server['id'])['OS-EXT-SRV-ATTR:host']

    @contextlib.contextmanager
    def observed(self, target, method, check):
        """Run a check each time before a method of a service's object."""
        wrapped = getattr(target, method)
        calls = []

        def observe(*args, **kwargs):
            calls.append(method)
            check()
            return wrapped(*args, **kwargs)
        with mock.patch.object(target, method, observe):
            yield
        self.assertNotEqual([], calls)

    def manager_of(self, host):
        return self.computes[host].manager


class TestResizeToAnotherHost(MovesTestCase):

    def setUp(self):
        super().setUp()
        self.small = self.make_flavor(50, 2)
        self.large = self.make_flavor(60, 3)
        self.other = self.boot_on('host2', self.make_flavor(20, 1))
        self.server = self.boot_on('host1', self.small)

    def test_while_it_is_resized_both_hosts_hold_the_share(self):
        self._resize_server(self.server, self.large)
        self.assert_ledgers([50, 50, 0, 0], [20, 60, 60, 60])
        self.assertEqual(['0%'] * 4, self.applied_on(self.computes['host1']))
        self.assertEqual(['20%', '60%', '60%', '60%'],
                         self.applied_on(self.computes['host2']))

    def test_confirmed_it_holds_the_new_share_only(self):
        self._resize_server(self.server, self.large)
        self._confirm_resize(self.server)
        self.assertEqual((1, 2, 3), self.pcpus_of(self.server))
        self.assert_settled(self.server, self.other)

    def test_deleted_while_its_confirmation_is_lost_it_leaves_nothing(self):
        """Nova confirms no resize a second time."""
        self._resize_server(self.server, self.large)
        with mock.patch.object(rpcapi.ComputeAPI, 'confirm_resize') as lost:
            self.api.post_server_action(self.server['id'], {'confirmResize': None})
            self.eventually(lambda: self.assertTrue(lost.called))
        self.assertNotEqual(0, self.allocated_on('host1'))
        self._delete_server(self.server)
        self._run_periodics()
        self.assertEqual(0, self.allocated_on('host1'))
        self.assert_audited()

    @full.only
    def test_confirmed_after_a_periodic_task_it_is_the_same(self):
        self._resize_server(self.server, self.large)
        self._run_periodics()
        self._confirm_resize(self.server)
        self.assertEqual((1, 2, 3), self.pcpus_of(self.server))
        self.assert_settled(self.server, self.other)

    def test_reverted_it_holds_the_old_share_only(self):
        self._resize_server(self.server, self.large)
        self._revert_resize(self.server)
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.server, self.other)

    @full.only
    def test_reverted_after_a_periodic_task_it_is_the_same(self):
        self._resize_server(self.server, self.large)
        self._run_periodics()
        self._revert_resize(self.server)
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.server, self.other)

    def test_claimed_and_not_yet_gone_it_is_held_on_both_hosts(self):
        with self.observed(self.manager_of('host1'), 'resize_instance',
                           lambda: self.assert_ledgers(
                               [50, 50, 0, 0], [20, 60, 60, 60])):
            self._resize_server(self.server, self.large)

    def test_gone_and_not_yet_started_it_is_held_on_both_hosts(self):
        with self.observed(self.manager_of('host2'), 'finish_resize',
                           lambda: self.assert_ledgers(
                               [50, 50, 0, 0], [20, 60, 60, 60])):
            self._resize_server(self.server, self.large)

    def test_reverted_and_not_yet_back_it_is_held_on_its_source_only(self):
        self._resize_server(self.server, self.large)
        with self.observed(self.manager_of('host1'), 'finish_revert_resize',
                           lambda: self.assert_ledgers(
                               [50, 50, 0, 0], [20, 0, 0, 0])):
            self._revert_resize(self.server)
        self.assert_settled(self.server, self.other)

    def test_deleted_while_it_is_resized_it_holds_nothing(self):
        self._resize_server(self.server, self.large)
        self._delete_server(self.server)
        self.assert_settled(self.other)

    @full.only
    def test_deleted_after_confirm_it_holds_nothing(self):
        self._resize_server(self.server, self.large)
        self._confirm_resize(self.server)
        self._delete_server(self.server)
        self.assert_settled(self.other)

    @full.only
    def test_deleted_after_revert_it_holds_nothing(self):
        self._resize_server(self.server, self.large)
        self._run_periodics()
        self._revert_resize(self.server)
        self._delete_server(self.server)
        self.assert_settled(self.other)

    def test_resized_twice_in_a_row_it_holds_what_it_has_and_will_have(self):
        self._resize_server(self.server, self.large)
        self._confirm_resize(self.server)
        self._resize_server(self.server, self.small)
        self.assertEqual('host1', self.host_of(self.server))
        self.assert_ledgers([50, 50, 0, 0], [20, 60, 60, 60])
        self._confirm_resize(self.server)
        self.assert_settled(self.server, self.other)

    def test_a_hint_is_kept_over_a_resize(self):
        hinted = self.boot_on('host1', self.small, hints={
            'cpu.rt_runtime_us': '30000'})
        self._resize_server(hinted, self.large)
        self._confirm_resize(hinted)
        shown = self.api.get_server(hinted['id'])['flavor']['extra_specs']
        self.assertEqual('30000', shown[cases.RUNTIME])
        self.assertEqual(3, len(self.pcpus_of(hinted)))
        self.assert_settled(hinted, self.server, self.other)

    def test_a_resize_may_give_up_the_reservation_and_take_one(self):
        plain = self._create_flavor(vcpu=1, memory_mb=64, disk=1)
        self._resize_server(self.server, plain)
        self.assert_ledgers([50, 50, 0, 0], [20, 0, 0, 0])
        self._confirm_resize(self.server)
        self.assert_ledgers([0, 0, 0, 0], [20, 0, 0, 0])
        self._resize_server(self.server, self.small)
        self.assert_ledgers([50, 50, 0, 0], [20, 0, 0, 0])
        self._revert_resize(self.server)
        self.assert_ledgers([0, 0, 0, 0], [20, 0, 0, 0])

    def test_a_stopped_server_is_resized_and_stays_stopped(self):
        self._stop_server(self.server)
        self._resize_server(self.server, self.large)
        self.assert_ledgers([50, 50, 0, 0], [20, 60, 60, 60])
        self.assertEqual(['20%', '0%', '0%', '0%'],
                         self.applied_on(self.computes['host2']))

    def test_without_room_it_stays_as_it_was_and_tells_why(self):
        # The filter passes the host, but it fills before the claim.
        claim = self.manager_of('host2').rt.place
        with mock.patch.object(self.manager_of('host2').rt, 'place',
                               side_effect=self.filled(claim)):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self._wait_for_migration_status(self.server, ['error'])
            self._wait_for_state_change(self.server, 'ACTIVE')
        self.assertIn('lacks 25%', self.fault_of(self.server))
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.server, self.other)

    def filled(self, claim):
        def place(nodename, wanted):
            tracker = self.manager_of('host2').rt
            full = tracker.driver.reservations.empty
            with mock.patch.object(
                    type(tracker), 'shares', full.add(wanted, range(4))):
                return claim(nodename, wanted)
        return place

    def test_a_failure_after_the_claim_takes_the_claim_back(self):
        with mock.patch('nova.compute.rpcapi.ComputeAPI.resize_instance',
                        side_effect=RuntimeError('the bus is gone')):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self._wait_for_migration_status(self.server, ['error'])
        self.assert_settled(self.server, self.other)


class TestResizeOnTheSameHost(MovesTestCase):

    HOSTS = 1

    def setUp(self):
        super().setUp()
        self.flags(allow_resize_to_same_host=True)
        self.small = self.make_flavor(50, 2)
        self.large = self.make_flavor(60, 2, memory_mb=128)
        self.server = self.boot(self.small)

    def test_while_it_is_resized_it_holds_both(self):
        self._resize_server(self.server, self.large)
        self.assert_ledgers([50, 50, 60, 60])
        self.assertEqual(['0%', '0%', '60%', '60%'],
                         self.applied_on(self.computes['host1']))

    def test_confirmed_it_holds_the_new_share_only(self):
        self._resize_server(self.server, self.large)
        self._confirm_resize(self.server)
        self.assertEqual((2, 3), self.pcpus_of(self.server))
        self.assert_settled(self.server)

    def test_reverted_it_holds_the_old_share_only(self):
        self._resize_server(self.server, self.large)
        self._revert_resize(self.server)
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.server)

    @full.only
    def test_reverted_after_a_periodic_task_it_is_the_same(self):
        self._resize_server(self.server, self.large)
        self._run_periodics()
        self._revert_resize(self.server)
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.server)

    @full.only
    def test_reverted_and_not_yet_back_it_holds_the_old_share_only(self):
        self._resize_server(self.server, self.large)
        with self.observed(self.manager_of('host1'), 'finish_revert_resize',
                           lambda: self.assert_ledgers([50, 50, 0, 0])):
            self._revert_resize(self.server)
        self.assert_settled(self.server)

    def test_at_every_stage_it_holds_both(self):
        manager = self.manager_of('host1')

        def check():
            self.assert_ledgers([50, 50, 60, 60])
        with (self.observed(manager, 'resize_instance', check),
              self.observed(manager, 'finish_resize', check),
              self.observed(manager.driver, 'finish_migration', check)):
            self._resize_server(self.server, self.large)

    def test_a_failure_after_the_claim_leaves_the_old_share(self):
        with mock.patch('nova.compute.rpcapi.ComputeAPI.resize_instance',
                        side_effect=RuntimeError('the bus is gone')):
            self.api.post_server_action(self.server['id'], {
                'resize': {'flavorRef': self.large}})
            self._wait_for_migration_status(self.server, ['error'])
        self.assert_settled(self.server)

    @full.only
    def test_deleted_after_confirm_it_holds_nothing(self):
        self._resize_server(self.server, self.large)
        self._confirm_resize(self.server)
        self._delete_server(self.server)
        self.assert_settled()

    def test_resized_twice_in_a_row_it_holds_what_it_has_and_will_have(self):
        self._resize_server(self.server, self.large)
        self._confirm_resize(self.server)
        self._resize_server(self.server, self.small)
        self.assert_ledgers([50, 50, 60, 60])
        self._revert_resize(self.server)
        self._resize_server(self.server, self.small)
        self.assert_ledgers([50, 50, 60, 60])


class TestColdMigration(MovesTestCase):

    def setUp(self):
        super().setUp()
        self.other = self.boot_on('host2', self.make_flavor(20, 1))
        self.server = self.boot_on('host1', self.make_flavor(50, 2))

    def test_confirmed_it_holds_the_pcpus_claimed_on_the_other_host(self):
        self._migrate_server(self.server)
        self.assert_ledgers([50, 50, 0, 0], [20, 50, 50, 0])
        self._confirm_resize(self.server)
        self.assertEqual((1, 2), self.pcpus_of(self.server))
        self.assert_settled(self.server, self.other)

    def test_reverted_it_is_back_on_its_pcpus(self):
        self._migrate_server(self.server)
        self._run_periodics()
        self._revert_resize(self.server)
        self.assertEqual((0, 1), self.pcpus_of(self.server))
        self.assert_settled(self.server, self.other)

    def test_gone_and_not_yet_started_it_is_held_on_both_hosts(self):
        with self.observed(self.manager_of('host2'), 'finish_resize',
                           lambda: self.assert_ledgers(
                               [50, 50, 0, 0], [20, 50, 50, 0])):
            self._migrate_server(self.server)


class TestShelving(MovesTestCase):

    def setUp(self):
        super().setUp()
        self.flags(shelved_offload_time=0)
        self.server = self.boot_on('host1', self.make_flavor(50, 2))

    def test_shelved_it_holds_nothing_and_unshelved_it_does_again(self):
        self._shelve_server(self.server)
        self._wait_for_server_parameter(
            self.server, {'OS-EXT-SRV-ATTR:host': None})
        self.assert_ledgers([0] * 4, [0] * 4)
        self.assertNotIn('rt_pcpus',
                         self.instance_of(self.server).system_metadata)
        self._unshelve_server(self.server)
        self.assert_settled(self.server)

    def test_unshelved_without_room_it_stays_shelved(self):
        self._shelve_server(self.server)
        self._wait_for_server_parameter(
            self.server, {'OS-EXT-SRV-ATTR:host': None})
        # There is room in the sum, or Placement would refuse.
        full = [self.boot_on(host, self.make_flavor(60, 4))
                for host in self.computes]
        with mock.patch('nova_rt.filters.rt_share_filter.RTShareFilter'
                        '.filter_all', lambda _, hosts, spec: list(hosts)):
            self.api.post_server_action(self.server['id'],
                                        {'unshelve': None})
            self._wait_for_server_parameter(self.server, {
                'status': 'SHELVED_OFFLOADED',
                'OS-EXT-STS:task_state': None})
        self.assertIn('lacks', self.fault_of(self.server))
        self.assert_settled(*full)


class TestRebuild(MovesTestCase):

    HOSTS = 1

    def test_rebuilt_it_keeps_its_pcpus(self):
        first = self.boot(self.make_flavor(50, 1))
        server = self.boot(self.make_flavor(60, 2))
        self._delete_server(first)
        self._rebuild_server(
            server, '155d900f-4e14-4e4c-a73d-069cbf4541e6')
        self.assertEqual((1, 2), self.pcpus_of(server))
        self.assert_settled(server)

    def test_rebuilt_on_a_full_host_it_fits_where_it_is(self):
        server = self.boot(self.make_flavor(95, 4))
        self._rebuild_server(
            server, 'a2459075-d96c-40d5-893e-577ff92e721c')
        self.assert_settled(server)


