# SPDX-License-Identifier: Apache-2.0
"""Every operation of Nova on a server with a reservation, one test each."""

from unittest import mock

from nova.compute import power_state

from nova_rt import bandwidth
from nova_rt import reservation
from nova_rt.instance import hint_update
from nova_rt.testing import cases
from nova_rt.testing import cloud
from nova_rt.tests.functional import operations

IMAGE = 'a2459075-d96c-40d5-893e-577ff92e721c'


class TestOperations(cloud.CloudTestCase, operations.Operation):
    """A server on host1, hinted to 30% of two pCPUs; host2 is empty."""

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')
        for host in ('host1', 'host2'):
            self.start(host)
        self.first = self.boot(self.make_flavor(10, 2), az='nova:host1')
        self.server = self.boot(self.make_flavor(50, 2), az='nova:host1',
                                hints={'cpu.rt_runtime_us': '30000'})
        self._delete_server(self.first)
        self.runtime_us = 30_000
        self.expected = bandwidth.to_bandwidth(30, 100)
        self.gone = False

    def before(self):
        self.pcpus = self.pcpus_of(self.server)
        self.pids = dict(self.computes['host1'].manager.driver.kernel.pids)

    def act(self, **action):
        self.api.post_server_action(self.server['id'], action)

    def wait(self, status):
        self._wait_for_state_change(self.server, status)

    def hold(self):
        """Return the hosts whose ledger holds the server's share, how often."""
        found = {}
        for host, compute in self.computes.items():
            used = compute.manager.rt.shares.rt_share_used
            self.assertEqual(0, used % (2 * self.expected))
            found[host] = used // (2 * self.expected)
        return {host: times for host, times in found.items() if times}

    def assert_claim(self, claim):
        where = self.hold()
        self.assertEqual({
            'kept': {'host1': 1}, 'made anew': {'host2': 1}, 'given up': {},
            'on both hosts': {'host1': 1, 'host2': 1}, 'twice': {'host1': 2},
        }[claim], where)

    def assert_pcpus(self, pcpus):
        if pcpus == 'none':
            if not self.gone:
                self.assertNotIn('rt_pcpus', self.instance_of(
                    self.server).system_metadata)
            return
        holds = self.pcpus_of(self.server)
        self.assertEqual(2, len(holds))
        if pcpus == 'the same':
            self.assertEqual(self.pcpus, holds)
        self.assert_hint_overrides()

    def assert_hint_overrides(self):
        shown = self.api.get_server(self.server['id'])['flavor']['extra_specs']
        self.assertEqual(str(self.runtime_us), shown[cases.RUNTIME])

    def assert_budget(self, budget):
        running = {
            (host, pid): compute.manager.driver.kernel.bandwidths(group)
            for host, compute in self.computes.items()
            for pid, group in compute.manager.driver.kernel.pids.items()}
        if budget in ('given back', 'none'):
            self.assertEqual({}, running)
            return
        ((_, pid), has), = running.items()
        self.assertEqual(budget in ('kept', 'changed'), pid in self.pids)
        self.assertEqual(
            [self.expected if pcpu in self.pcpus_of(self.server) else 0
             for pcpu in range(cloud.PCPUS)], has)

    @operations.proves('lock, unlock', 'kept', 'the same', 'kept')
    def test_lock(self):
        self.act(lock=None)
        self.act(unlock=None)

    @operations.proves('pause', 'kept', 'the same', 'kept')
    def test_pause(self):
        self.act(pause=None)
        self.wait('PAUSED')

    @operations.proves('unpause', 'kept', 'the same', 'kept')
    def test_unpause(self):
        self.act(pause=None)
        self.wait('PAUSED')
        self.act(unpause=None)
        self.wait('ACTIVE')

    @operations.proves('stop', 'kept', 'the same', 'given back')
    def test_stop(self):
        self._stop_server(self.server)

    @operations.proves('start', 'kept', 'the same', 'applied anew')
    def test_start(self):
        self._stop_server(self.server)
        self._start_server(self.server)

    @operations.proves('soft reboot', 'kept', 'the same', 'applied anew')
    def test_soft_reboot(self):
        self._reboot_server(self.server)

    @operations.proves('hard reboot', 'kept', 'the same', 'applied anew')
    def test_hard_reboot(self):
        self._reboot_server(self.server, hard=True)

    @operations.proves('suspend', 'kept', 'the same', 'given back')
    def test_suspend(self):
        self._suspend_server(self.server)

    @operations.proves('resume', 'kept', 'the same', 'applied anew')
    def test_resume(self):
        self._suspend_server(self.server)
        self._resume_server(self.server)

    @operations.proves('rescue', 'kept', 'the same', 'applied anew')
    def test_rescue(self):
        self._rescue_server(self.server)

    @operations.proves('unrescue', 'kept', 'the same', 'applied anew')
    def test_unrescue(self):
        self._rescue_server(self.server)
        self.act(unrescue=None)
        self.wait('ACTIVE')

    @operations.proves('rebuild', 'kept', 'the same', 'applied anew')
    def test_rebuild(self):
        self._rebuild_server(self.server, self.server['image']['id'])

    @operations.proves('rebuild with another image', 'kept', 'the same',
                       'applied anew')
    def test_rebuild_with_another_image(self):
        self._rebuild_server(self.server, IMAGE)

    @operations.proves('shelve, not offloaded', 'kept', 'the same',
                       'given back')
    def test_shelve(self):
        self.flags(shelved_offload_time=-1)
        self._shelve_server(self.server, expected_state='SHELVED')

    @operations.proves('unshelve, not offloaded', 'kept', 'the same',
                       'applied anew')
    def test_unshelve_where_it_is(self):
        self.flags(shelved_offload_time=-1)
        self._shelve_server(self.server, expected_state='SHELVED')
        self._unshelve_server(self.server)

    @operations.proves('shelve and offload', 'given up', 'none', 'given back')
    def test_offload(self):
        self.flags(shelved_offload_time=0)
        self._shelve_server(self.server)

    @operations.proves('unshelve, offloaded', 'made anew', 'chosen anew',
                       'applied anew')
    def test_unshelve(self):
        self.flags(shelved_offload_time=0)
        self._shelve_server(self.server)
        full = self.boot(self.make_flavor(90, 4), az='nova:host1')
        self._unshelve_server(self.server)
        self._delete_server(full)

    @operations.proves('resize, not confirmed', 'on both hosts',
                       'chosen anew', 'applied anew')
    def test_resize(self):
        self._resize_server(self.server, self.make_flavor(60, 2))

    @operations.proves('resize, confirmed', 'made anew', 'chosen anew',
                       'applied anew')
    def test_confirm_resize(self):
        self._resize_server(self.server, self.make_flavor(60, 2))
        self._confirm_resize(self.server)

    @operations.proves('resize, reverted', 'kept', 'the same', 'applied anew')
    def test_revert_resize(self):
        self._resize_server(self.server, self.make_flavor(60, 2))
        self._revert_resize(self.server)

    @operations.proves('resize on the same host, not confirmed', 'twice',
                       'chosen anew', 'applied anew')
    def test_resize_on_the_same_host(self):
        self.resize_here()

    @operations.proves('resize on the same host, confirmed', 'kept',
                       'chosen anew', 'applied anew')
    def test_confirm_resize_on_the_same_host(self):
        self.resize_here()
        self._confirm_resize(self.server)

    @operations.proves('resize on the same host, reverted', 'kept',
                       'the same', 'applied anew')
    def test_revert_resize_on_the_same_host(self):
        self.resize_here()
        self._revert_resize(self.server)

    def resize_here(self):
        self.flags(allow_resize_to_same_host=True)
        full = self.boot(self.make_flavor(90, 4), az='nova:host2')
        self._resize_server(self.server, self.make_flavor(
            60, 2, memory_mb=128))
        self._delete_server(full)

    @operations.proves('resize in place, not confirmed', 'kept', 'the same',
                       'changed')
    def test_resize_in_place(self):
        self.resize_in_place()

    @operations.proves('resize in place, confirmed', 'kept', 'the same',
                       'changed')
    def test_confirm_resize_in_place(self):
        self.resize_in_place()
        self._confirm_resize(self.server)

    @operations.proves('resize in place, reverted', 'kept', 'the same',
                       'kept')
    def test_revert_resize_in_place(self):
        self.resize_in_place()
        self._revert_resize(self.server)
        self.expected = bandwidth.to_bandwidth(30, 100)

    def resize_in_place(self):
        self.flags(allow_resize_to_same_host=True)
        self._resize_server(self.server, self.make_flavor(
            60, 2, period_us=75_000))
        self.expected = bandwidth.to_bandwidth(30, 75)

    @operations.proves('another hint, by nova-rt-manage reservation set',
                       'kept', 'the same', 'changed')
    def test_set_another_hint(self):
        hint_update.change(self.cell_context(), self.server['id'],
                      reservation.Times(self.runtime_us + 15_000), cloud.CAP)
        self.runtime_us = 45_000
        self.expected = bandwidth.to_bandwidth(45, 100)

    @operations.proves('cold migration, not confirmed', 'on both hosts',
                       'chosen anew', 'applied anew')
    def test_migrate(self):
        self._migrate_server(self.server)

    @operations.proves('cold migration, confirmed', 'made anew',
                       'chosen anew', 'applied anew')
    def test_confirm_migration(self):
        self._migrate_server(self.server)
        self._confirm_resize(self.server)

    @operations.proves('cold migration, reverted', 'kept', 'the same',
                       'applied anew')
    def test_revert_migration(self):
        self._migrate_server(self.server)
        self._revert_resize(self.server)

    @operations.proves('evacuate', 'made anew', 'chosen anew', 'applied anew')
    def test_evacuate(self):
        self.take_down('host1')
        # From 2.95 on, an evacuated server stays stopped.
        with mock.patch.object(self.admin_api, 'microversion', '2.94'):
            self._evacuate_server(self.server, expected_host='host2',
                                  expected_state='ACTIVE')

    @operations.proves('soft delete', 'kept', 'the same', 'given back')
    def test_soft_delete(self):
        self.soft_delete()

    @operations.proves('restore', 'kept', 'the same', 'applied anew')
    def test_restore(self):
        self.soft_delete()
        self.act(restore=None)
        self.wait('ACTIVE')

    def soft_delete(self):
        self.flags(reclaim_instance_interval=3600)
        self.api.delete_server(self.server['id'])
        self.wait('SOFT_DELETED')

    @operations.proves('force-delete', 'given up', 'none', 'given back')
    def test_force_delete(self):
        self.soft_delete()
        self.act(forceDelete=None)
        self._wait_until_deleted(self.server)
        self.gone = True

    @operations.proves('delete', 'given up', 'none', 'given back')
    def test_delete(self):
        self._delete_server(self.server)
        self.gone = True

    @operations.proves('restart of nova-rt-compute', 'kept', 'the same',
                       'kept')
    def test_restart_of_nova_rt_compute(self):
        self.start('host1')

    @operations.proves('host reboot', 'kept', 'the same', 'applied anew')
    def test_host_reboot(self):
        self.flags(resume_guests_state_on_host_boot=True)
        compute = self.computes['host1']
        compute.stop()
        driver = compute.manager.driver
        # Nothing of the kernel's survives, and nothing that Nova runs.
        del driver.kernels['host1']
        for guest in driver.instances.values():
            guest.state = power_state.SHUTDOWN
        self.start('host1')
