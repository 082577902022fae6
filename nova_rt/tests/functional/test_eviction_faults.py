# SPDX-License-Identifier: Apache-2.0
"""Evictions with services that are killed and a database that goes away; see evicting."""

from unittest import mock

from nova.compute import api as compute_api
from oslo_db import exception as db_exception
import pytest

from nova_rt import closing
from nova_rt.instance import eviction
from nova_rt.reaction import records
from nova_rt.tests.functional import evicting
from nova_rt.tests.functional import killed


class FaultsTestCase(evicting.EvictingTestCase):
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
                pytest.raises(killed.Killed):
            self.evict()
        self.start('host1')
        self.is_stopped_and_started_again()

    def test_killed_when_it_is_stopped_and_nobody_knows(self):
        with mock.patch.object(self.manager.rt, 'close', _killed), \
                pytest.raises(killed.Killed):
            self.evict()
        self.is_eventually(self.lesser, 'SHUTOFF')
        self.start('host1')
        self.is_stopped_and_started_again()

    def test_killed_when_nobody_was_told(self):
        with mock.patch.object(records, 'write', _killed), pytest.raises(killed.Killed):
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
                pytest.raises(killed.Killed):
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
        with mock.patch.object(compute_api.API, '_record_action_start', evicting.away), \
                pytest.raises(db_exception.DBConnectionError):
            self.evict()
        self.assertEqual('powering-off', self.instance_of(self.lesser).task_state)
        self.look()
        self.is_stopped_and_started_again()

    def test_a_database_that_goes_away_before(self):
        for name in ('objects.InstanceList.get_by_host', 'objects.Instance.save'):
            with mock.patch(f'nova.{name}', evicting.away), \
                    pytest.raises(db_exception.DBConnectionError):
                self.evict()
            self.look()
            self.is_eventually(self.lesser, 'ACTIVE')
            self.assertNotIn(eviction.MARK, self.instance_of(self.lesser).system_metadata)

    def test_a_container_that_cannot_be_stopped_runs_on(self):
        with mock.patch.object(self.manager.driver, 'power_off', evicting.away):
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


def _killed(*args, **kwargs):
    raise killed.Killed
