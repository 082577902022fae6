# SPDX-License-Identifier: Apache-2.0
"""A service that is killed between any two of its writes while a server's hint is changed."""

import contextlib
import itertools

import oslo_messaging

from nova_rt.cmd import manage_base
from nova_rt.instance import flavors
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import test_hint_changes


class Unanswered(oslo_messaging.MessagingTimeout):
    """What the caller of a service that is killed sees of it, without the wait."""


class TestKilledInAChange(killed.AtAnyWrite, test_hint_changes.HintTestCase):
    """Started again, and asked to finish, the server has all of the old or of the new."""

    DEATH = Unanswered

    def assert_has_either(self, *percents):
        self.set()
        # Placement is told within a minute.
        self._run_periodics()
        runtime_us = flavors.reservation_of(self.instance_of(self.server).flavor).runtime_us
        self.assertIn(runtime_us // 1000, percents)
        self.assert_has(runtime_us // 1000, rt_runtime_us=runtime_us)

    def test_it_grows_and_shrinks(self):
        for percent in (60, 20):
            for number in itertools.count(step=killed.STEP):
                changes = self.computes['host1'].manager.reservation_change
                with (self.killing(number, 'host1', changes, 'change') as died,
                      contextlib.suppress(manage_base.CommandError)):
                    self.set(percent * 1000)
                self.assert_has_either(30, percent)
                self.set(30_000)
                if not died:
                    break
            self.assertGreater(number, 3)
