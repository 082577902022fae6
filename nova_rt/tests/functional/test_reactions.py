# SPDX-License-Identifier: Apache-2.0
"""What a user sees of a loan. Nova's services are real, and so are the processes that miss
deadlines; libvirt and the kernel's budgets are stand-ins.
"""

import os
from pathlib import Path
import socket
import time
import types
import unittest
from unittest import mock

import fixtures

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt.monitor import notes
from nova_rt.testing import cloud
from nova_rt.testing import fake_machine_driver
from nova_rt.testing import jobs
from nova_rt.testing import processes
from nova_rt.tests.unit.monitor import examples
from nova_rt.virt import containers
from nova_rt.virt import loans

OPTIONS = {'lend_after_misses': 2, 'miss_window': 60.0, 'lend_for': 600.0}


@unittest.skipIf(os.geteuid(), 'Needs root: makes a mount namespace.')
class HearingTestCase(cloud.CloudTestCase):
    """A host that hears of misses.

    :cvar options: of its nova.conf, besides OPTIONS
    """

    options = types.MappingProxyType({})

    def setUp(self):
        super().setUp()
        self.flags(hear_misses=True, group='rt', **{**OPTIONS, **self.options})
        self.inside = processes.Container()
        self.addCleanup(self.inside.end)
        self.useFixture(fixtures.MockPatchObject(
            containers, 'first_process', lambda number: self.inside.pid))
        built = self.useFixture(fixtures.TempDir()).path
        self.library = jobs.Library(jobs.build(Path(built)))
        self.start('host1')

    def activity(self):
        """Return an activity in the container."""
        self.inside.jobs.mkdir(parents=True, exist_ok=True)
        with mock.patch.dict(os.environ, {jobs.FOLDER_VARIABLE: str(self.inside.jobs)}):
            return self.library.open('control', 1000 * jobs.MS, 1000 * jobs.MS)

    def miss(self, activity, times=2):
        for _ in range(times):
            activity.miss()

    def told(self, server, action='rt_loan'):
        """Return what the user is told of what was done, the newest first."""
        actions = self.api.api_get(
            f'servers/{server["id"]}/os-instance-actions').body['instanceActions']
        return [each['message'] for each in actions if each['action'] == action]

    def lent(self, server):
        kernel = self.kernel_of(self.computes['host1'])
        return [bandwidth.percent(each) for each in kernel.bandwidths(
            f'machine/{server["id"]}')]

    def reactor(self):
        return self.computes['host1'].manager._reactions._reactor



class ReactionsTestCase(HearingTestCase):

    def suffering(self):
        """Boot a server whose application misses its deadlines, and wait for the loan."""
        activity = self.activity()
        server = self.boot(self.make_flavor(30, 1))
        self.eventually(lambda: self.assertEqual({server['id']}, set(self.reactor()._known)))
        self.miss(activity)
        self.eventually(lambda: self.assertEqual(['80%', '0%', '0%', '0%'], self.lent(server)))
        return server, activity

    def test_a_user_sees_why_something_was_lent(self):
        server, _ = self.suffering()
        self.eventually(lambda: self.assertEqual([
            'It missed 2 deadlines or more within 60 s: up to 50% of a CPU is lent to each '
            'vCPU, until 600 s have passed without that.'], self.told(server)))
        # It is nobody's reservation.
        self.assert_ledgers([30, 0, 0, 0])
        self.assertEqual(bandwidth.to_bandwidth(30, 100), self.allocated_on('host1'))
        self.assert_audited()

    def test_the_next_server_takes_the_room_that_was_lent(self):
        server, _ = self.suffering()
        self.boot(self.make_flavor(65, cloud.PCPUS))
        self.assertEqual(['30%', '0%', '0%', '0%'], self.lent(server))
        self.assert_ledgers([95, 65, 65, 65])
        self.assert_audited()

    def test_the_periodic_update_leaves_it(self):
        server, _ = self.suffering()
        self._run_periodics()
        self.assertEqual('80%', self.lent(server)[0])

    def test_a_service_that_ends_gives_it_back(self):
        server, _ = self.suffering()
        self.computes['host1'].stop()
        # Nova's test fixture waits for nothing that its manager does at the end.
        self.eventually(lambda: self.assertEqual('30%', self.lent(server)[0]))

    def test_another_reservation_ends_it(self):
        server, _ = self.suffering()
        self.flags(allow_resize_to_same_host=True)
        self._resize_server(server, self.make_flavor(40, 1))
        self.assertEqual('40%', self.lent(server)[0])

    def test_a_server_that_is_deleted_takes_it_along(self):
        server, _ = self.suffering()
        self._delete_server(server)
        self.assert_ledgers([0] * cloud.PCPUS)
        self._run_periodics()
        # For a period, it may have been used.
        time.sleep(0.1)
        self._run_periodics()
        self.assertEqual([], list(loans.Loans()))
        self.assert_audited()


class OneSuffersTestCase(HearingTestCase):
    """Only the first container tells of misses."""

    def setUp(self):
        super().setUp()
        numbers = []

        def first_process(number):
            numbers.append(number)
            if number != numbers[0]:
                raise ProcessLookupError(number)
            return self.inside.pid
        self.useFixture(fixtures.MockPatchObject(containers, 'first_process', first_process))


class MovesOnMissesTestCase(OneSuffersTestCase):

    options = types.MappingProxyType({
        'lend_after_misses': 1, 'lend_for': 1.0, 'move_on_misses': True,
        'placement_policy': 'first-fit'})

    def test_where_nothing_can_be_lent_a_vcpu_is_moved_to_where_something_can(self):
        activity = self.activity()
        server = self.boot(self.make_flavor(30, 1))
        other = self.boot(self.make_flavor(65, 1))
        self.assertEqual([(0,), (0,)], [self.pcpus_of(each) for each in (server, other)])
        self.eventually(lambda: self.assertIn(server['id'], self.reactor()._known))
        self.miss(activity, 1)
        self.eventually(lambda: self.assertEqual((1,), self.pcpus_of(server)))
        self.eventually(lambda: self.assertEqual(1, len(self.told(server, 'rt_move'))))
        self.assertEqual((0,), self.pcpus_of(other))
        self.assert_ledgers([65, 30, 0, 0])
        self.assert_audited()
        self.eventually(lambda: self.assertNotIn(server['id'], self.reactor()._helped))
        self.miss(activity, 1)
        self.eventually(lambda: self.assertEqual(['0%', '80%', '0%', '0%'], self.lent(server)))
        self.assert_audited()


class EvictionsOnMissesTestCase(OneSuffersTestCase):

    options = types.MappingProxyType({
        'lend_after_misses': 1, 'lend_for': 600.0, 'evict_on_misses': True})

    def test_from_the_miss_to_the_loan(self):
        activity = self.activity()
        server = self.boot(self.make_flavor(30, 4, **{criticality.EXTRA_SPEC: 'C'}))
        self.boot(self.make_flavor(65, 4, **{criticality.EXTRA_SPEC: 'A'}))
        self.eventually(lambda: self.assertIn(server['id'], self.reactor()._known))
        began_s = time.monotonic()
        while self.lent(server) != ['80%'] * 4:
            self.assertLess(time.monotonic(), began_s + 60)
            self.miss(activity, 1)
            time.sleep(0.005)
        # The stand-in for a container ends at once, and no kernel is asked.
        print(f'Lent after an eviction: {1000 * (time.monotonic() - began_s):.0f} ms')
        self.assert_audited()


class MachineReactionsTestCase(cloud.CloudTestCase):
    """A socket on which the test listens stands in for QEMU's."""

    compute_driver = 'fake.FakeMachineDriver'

    def setUp(self):
        super().setUp()
        self.flags(hear_misses=True, lend_after_misses=1, miss_window=60.0, group='rt')
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MockPatchObject(notes, 'FOLDER', folder / 'heard'))
        self.port = str(folder / 'port')
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(self.port)
        self.listener.listen(1)
        self.listener.settimeout(60)
        self.start('host1')

    def test_its_user_is_told_that_nothing_is_lent(self):
        server = self.boot(self.make_flavor(30, 1))
        fake_machine_driver.FakeMachineDriver.ports[server['id']] = self.port
        self.computes['host1'].manager._reactions._reactor.look_again()
        # As each connection that stays follows one that does not.
        self.listener.accept()[0].close()
        guest, _ = self.listener.accept()
        self.addCleanup(guest.close)
        guest.send(examples.missed(1))

        def told():
            actions = self.api.api_get(
                f'servers/{server["id"]}/os-instance-actions').body['instanceActions']
            self.assertEqual(
                ['It missed 1 deadline or more within 60 s. Nothing is lent to virtual '
                 'machines: give it a larger reservation if that goes on.'],
                [each['message'] for each in actions if each['action'] == 'rt_loan'])
        self.eventually(told)
        self.assert_audited()
