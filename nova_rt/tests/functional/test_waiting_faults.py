# SPDX-License-Identifier: Apache-2.0
"""Conductors that are killed or stopped while servers wait for room, and what else may fail."""

import time
from unittest import mock

from nova import exception
from nova import objects
from oslo_config import cfg
import oslo_messaging

from nova_rt.conductor import holds
from nova_rt.conductor import tasks
from nova_rt.instance import waiting
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import waiting_case

CONF = cfg.CONF


class TestFaults(waiting_case.WaitingCase):

    def setUp(self):
        super().setUp()
        self.start('one', (cloud.CAP,))
        first = self.boot(self.flavor_of(60))
        self.second = self.ask(self.flavor_of(60))
        self.deleted(first)
        self.room_is_told()

    def kill(self, target, name, after=False):
        """Kill the conductor before or after it calls this, and find what it has left."""
        self.dies(target, name, after)
        assert self.waiting() == [self.second['id']]
        self.sweep()
        assert self.status(self.second) == 'BUILD', 'it was taken over too early'
        self.expire(self.second, held_until_s=time.time())
        self.sweep()

    @full.only
    def test_killed_before_it_asks_the_scheduler(self):
        self.kill(tasks.manager.ComputeTaskManager, '_schedule_instances')
        self.becomes(self.second)
        self.assert_settled(self.second)

    def test_killed_after_it_has_asked_the_scheduler(self):
        self.kill(tasks.manager.ComputeTaskManager, '_schedule_instances', after=True)
        self.becomes(self.second)
        self.assert_settled(self.second)

    @full.only
    def test_killed_before_the_server_is_in_a_cell(self):
        self.kill(holds.Hold, 'go_on', after=True)
        self.becomes(self.second)
        self.assert_settled(self.second)

    def test_killed_after_the_server_is_in_a_cell(self):
        self.kill(tasks.manager.ComputeTaskManager, '_map_instance_to_cell')
        fault = self.becomes(self.second, 'ERROR')['fault']['message']
        assert 'was killed while it built this server' in fault
        assert self.allocated_on('one') == 0
        self.deleted(self.second)
        self.assert_settled()

    @full.only
    def test_killed_before_it_leaves_the_queue(self):
        self.kill(holds.Hold, 'end')
        self.becomes(self.second, 'ERROR')
        self.deleted(self.second)
        self.assert_settled()

    @full.only
    def test_killed_while_it_is_given_up(self):
        self.expire(self.second, until_s=time.time())
        self.kill(tasks.manager.ComputeTaskManager, '_create_instance_action_for_cell0')
        assert 'No room on one' in self.becomes(self.second, 'ERROR')['fault']['message']
        assert self.waiting() == []

    @full.only
    def test_two_conductors_never_place_it_twice(self):
        other = self.another_conductor()
        real = tasks.manager.ComputeTaskManager._schedule_instances
        asked = []

        def meanwhile(*args, **kwargs):
            asked.append(args)
            other.place_those_who_wait(self.admin)
            return real(*args, **kwargs)

        with mock.patch.object(
                tasks.manager.ComputeTaskManager, '_schedule_instances', meanwhile):
            self.sweep()
        self.becomes(self.second)
        assert len(asked) == 1
        self.assert_settled(self.second)

    def test_who_was_stopped_for_long_leaves_it_to_the_other(self):
        other = self.another_conductor()
        real = tasks.manager.ComputeTaskManager._schedule_instances

        def stopped(task_manager, *args, **kwargs):
            if task_manager is other.compute_task_mgr:
                return real(task_manager, *args, **kwargs)
            hosts = real(task_manager, *args, **kwargs)
            self.expire(self.second, held_until_s=time.time())
            other.place_those_who_wait(self.admin)
            return hosts

        with mock.patch.object(
                tasks.manager.ComputeTaskManager, '_schedule_instances', stopped):
            self.sweep()
        self.becomes(self.second)
        self.assert_settled(self.second)

    @full.only
    def test_who_was_stopped_while_it_left_does_not_erase_the_server(self):
        """Nova takes a request that is gone for a server that its user has deleted."""
        other = self.another_conductor()
        real = objects.BuildRequest.get_new_instance

        def stopped(request, context):
            instance = real(request, context)
            with mock.patch.object(objects.BuildRequest, 'get_new_instance', real):
                for _ in range(3):
                    # As long as it may be stopped there: a minute, and some more.
                    with mock.patch.object(holds.time, 'time', return_value=time.time() + 300):
                        other.place_those_who_wait(self.admin)
            return instance

        with mock.patch.object(objects.BuildRequest, 'get_new_instance', stopped):
            self.sweep()
        self.becomes(self.second)
        self.assert_settled(self.second)

    @full.only
    def test_the_scheduler_away_is_no_reason_to_give_it_up(self):
        with mock.patch.object(tasks.manager.ComputeTaskManager, '_schedule_instances',
                               side_effect=exception.NovaException):
            self.sweep()
        assert self.waiting() == [self.second['id']]
        self.placed(self.second)
        self.assert_settled(self.second)

    @full.only
    def test_the_scheduler_has_placed_it_and_its_answer_is_lost(self):
        real = tasks.manager.ComputeTaskManager._schedule_instances

        def lost(*args, **kwargs):
            real(*args, **kwargs)
            raise oslo_messaging.MessagingTimeout

        with mock.patch.object(
                tasks.manager.ComputeTaskManager, '_schedule_instances', lost):
            self.sweep()
        assert self.allocated_on('one') > 0
        self.placed(self.second)
        self.assert_settled(self.second)

    @full.only
    def test_one_that_cannot_be_read_does_not_hold_up_the_others(self):
        # The room is told of, and goes to whoever is first.
        real = waiting.request_of
        third = self.late(self.flavor_of(60))
        found = waiting.find(self.admin, self.second['id'])
        with mock.patch.object(waiting, 'request_of', side_effect=lambda each: (
                '' if each.server == found.server else real(each))):
            self.placed(third)
        assert self.waiting() == [found.server]

    @full.only
    def test_room_that_another_has_taken_meanwhile(self):
        third = {}
        real = tasks.manager.ComputeTaskManager._schedule_instances

        def late(task_manager, *args, **kwargs):
            if not third:
                third.update(booting='yes')
                third.update(self.boot(self.flavor_of(50)))
            return real(task_manager, *args, **kwargs)

        with mock.patch.object(tasks.manager.ComputeTaskManager, '_schedule_instances', late):
            self.sweep()
        assert self.waiting() == [self.second['id']]
        self.deleted(third)
        self.manager.queue._tried.clear()
        self.placed(self.second)
        self.assert_settled(self.second)

    @full.only
    def test_deleted_while_the_scheduler_is_asked(self):
        real = tasks.manager.ComputeTaskManager._schedule_instances

        def deleted(*args, **kwargs):
            hosts = real(*args, **kwargs)
            self.deleted(self.second)
            return hosts

        with mock.patch.object(
                tasks.manager.ComputeTaskManager, '_schedule_instances', deleted):
            self.sweep()
        assert self.waiting() == []
        self.assert_settled()
