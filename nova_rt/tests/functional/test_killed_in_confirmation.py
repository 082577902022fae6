# SPDX-License-Identifier: Apache-2.0
"""A service that is killed between any two of its writes while a move is confirmed."""

import itertools

from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_moves


class TestBetweenHosts(killed.AtAnyWrite, test_moves.MovesTestCase):
    """Started again, it completes it: the server has the new only, and the source nothing."""

    def setUp(self):
        super().setUp()
        self.server = self.boot_on('host1', self.make_flavor(50, 2))

    def assert_confirmed(self, percent):
        self._wait_for_server_parameter(self.server, {
            'status': 'ACTIVE', 'OS-EXT-STS:task_state': None})
        instance = self.instance_of(self.server)
        self.assertIsNone(instance.migration_context)
        self.assertEqual(percent * 1000, self._holding_of(instance).reservation.runtime_us)
        self.assert_settled(self.server)
        self.assert_audited()

    def test_it_is_confirmed(self):
        # Another size of memory, so that it is not resized in place.
        for number, (percent, memory_mb) in zip(
                itertools.count(), itertools.cycle(((20, 128), (50, 64)))):
            source = self.host_of(self.server)
            self._resize_server(self.server, self.make_flavor(
                percent, 2, memory_mb=memory_mb))
            died = self.killed_at(number, source, self.manager_of(source),
                                  'confirm_resize', confirmResize=None)
            self.assert_confirmed(percent)
            if not died:
                break
        self.assertGreater(number, 4)


class TestOnOneHost(TestBetweenHosts):

    HOSTS = 1

    def setUp(self):
        super().setUp()
        self.flags(allow_resize_to_same_host=True)
