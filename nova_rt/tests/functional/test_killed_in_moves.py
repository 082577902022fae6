# SPDX-License-Identifier: Apache-2.0
"""A service that is killed between any two of its writes while it moves a server."""

import itertools

from nova_rt.instance import holdings
from nova_rt.testing import full
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_moves


class TestDeleted(killed.AtAnyWrite, test_moves.MovesTestCase):
    """Whatever becomes of the server, once it is deleted nothing of it is left."""

    def setUp(self):
        super().setUp()
        self.small, self.large = self.make_flavor(50, 2), self.make_flavor(60, 2)

    def assert_leaves_nothing(self, host, method, moved=False, **action):
        for number in itertools.count(step=killed.STEP):
            self.server = self.boot_on('host1', self.small)
            if moved:
                self._resize_server(self.server, self.large)
            if not self.killed_at(number, host, self.manager_of(host), method, **action):
                break
            self._delete_server(self.server)
            # Another host learns of it then.
            self._run_periodics()
            self.assert_settled()
            self.assert_audited()
        self.assertGreater(number, 3)

    @full.only
    def test_its_resize_is_prepared(self):
        self.assert_leaves_nothing('host2', 'prep_resize', resize={'flavorRef': self.large})

    @full.only
    def test_it_leaves_the_source(self):
        self.assert_leaves_nothing('host1', 'resize_instance', resize={'flavorRef': self.large})

    @full.only
    def test_it_arrives(self):
        self.assert_leaves_nothing('host2', 'finish_resize', resize={'flavorRef': self.large})

    def test_it_is_taken_back(self):
        self.assert_leaves_nothing('host2', 'revert_resize', moved=True, revertResize=None)

    def test_it_is_back(self):
        self.assert_leaves_nothing('host1', 'finish_revert_resize', moved=True,
                                   revertResize=None)

    @full.only
    def test_it_is_confirmed(self):
        self.assert_leaves_nothing('host1', 'confirm_resize', moved=True, confirmResize=None)


class TestReset(killed.AtAnyWrite, test_moves.MovesTestCase):
    """Once an operator has reset its state, it runs with a claim, or tells that it has none."""

    def setUp(self):
        super().setUp()
        self.small, self.large = self.make_flavor(50, 2), self.make_flavor(60, 2)

    def assert_agreed(self):
        """Nothing differs, except that it may have no claim; then it does not run."""
        lacks = holdings.holding_of(self.instance_of(self.server)) is None
        self.eventually(lambda: self.assertEqual(
            [('claim-missing', self.server['id'])] if lacks else [], [
                (drift.kind, drift.subject)
                for host in self.computes for drift in self.auditor_of(host).look()]))
        self.assertFalse(lacks and any(
            compute.manager.driver.running() for compute in self.computes.values()))

    def test_it_arrives(self):
        for number in itertools.count(step=killed.STEP):
            self.server = self.boot_on('host1', self.small)
            if not self.killed_at(number, 'host2', self.manager_of('host2'), 'finish_resize',
                                  resize={'flavorRef': self.large}):
                break
            self.unlock()
            self._run_periodics()
            self.assert_agreed()
            self.api.post_server_action(self.server['id'], {'reboot': {'type': 'HARD'}})
            self._wait_for_server_parameter(self.server, {'OS-EXT-STS:task_state': None})
            self.assert_agreed()
            self._delete_server(self.api.get_server(self.server['id']))
            self.assert_settled()
        self.assertGreater(number, 3)

    def assert_stays(self, **action):
        """The source dies before the server has left: it is as if nobody had asked."""
        for number in itertools.count(step=killed.STEP):
            self.server = self.boot_on('host1', self.small)
            if not self.killed_at(number, 'host1', self.manager_of('host1'), 'resize_instance',
                                  **action):
                break
            if self.instance_of(self.server).host == 'host1':
                if self.instance_of(self.server).task_state is not None:
                    self.unlock()
                    self.start('host1')
                # Until its destination looks again, that holds it.
                self.assert_at_rest()
            self.end_server()
        self.assertGreater(number, 3)

    def test_it_is_resized_and_stays(self):
        self.assert_stays(resize={'flavorRef': self.large})

    @full.only
    def test_it_is_migrated_and_stays(self):
        self.assert_stays(migrate=None)
