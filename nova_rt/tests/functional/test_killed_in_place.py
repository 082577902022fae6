# SPDX-License-Identifier: Apache-2.0
"""A service that is killed between any two of its writes during a resize in place."""

import itertools

from nova_rt.testing import cases
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_in_place


class TestKilledAtAnyWrite(killed.AtAnyWrite, test_in_place.InPlaceTestCase):
    """It is started again, and the server has all of the old or of the new."""

    HOSTS = 1

    def assert_all_is(self, percent):
        self._wait_for_server_parameter(self.server, {
            'status': 'ACTIVE', 'OS-EXT-STS:task_state': None})
        self.assert_as_it_was(percent)
        shown = self.api.get_server(self.server['id'])['flavor']['extra_specs']
        self.assertEqual(str(percent * 1000), shown[cases.RUNTIME])

    def test_in_a_resize_it_has_the_old(self):
        for percent in (20, 60):
            flavor = self.make_flavor(percent, 2)
            for number in itertools.count():
                manager = self.computes['host1'].manager
                if not self.killed_at(number, 'host1', manager.in_place_resize,
                                      'resize', resize={'flavorRef': flavor}):
                    break
                self.assert_all_is(50)
            self.assertGreater(number, 3)
            self._wait_for_state_change(self.server, 'VERIFY_RESIZE')
            self._revert_resize(self.server)

    def test_in_a_revert_it_has_the_old(self):
        flavor = self.make_flavor(20, 2)
        for number in itertools.count():
            self._resize_server(self.server, flavor)
            manager = self.computes['host1'].manager
            if not self.killed_at(number, 'host1', manager.in_place_resize, 'revert',
                                  revertResize=None):
                break
            self.assert_all_is(50)
        self.assertGreater(number, 3)

    def test_in_a_confirmation_it_has_the_new(self):
        for number, percent in zip(itertools.count(), itertools.cycle((20, 50))):
            self._resize_server(self.server, self.make_flavor(percent, 2))
            manager = self.computes['host1'].manager
            if not self.killed_at(number, 'host1', manager, 'confirm_resize',
                                  confirmResize=None):
                break
            self.assert_all_is(percent)
        self.assertGreater(number, 3)
