# SPDX-License-Identifier: Apache-2.0
"""New servers that wait for room: with Nova's real API, conductor, scheduler and Placement."""

import contextlib
import dataclasses
import time
from unittest import mock

from nova import context as nova_context
from nova import exception
from nova import objects
from oslo_config import cfg
import oslo_messaging
import pytest

from nova_rt import criticality
from nova_rt.conductor import holds
from nova_rt.conductor import manager
from nova_rt.conductor import tasks
from nova_rt.instance import waiting
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import killed

CONF = cfg.CONF


class WaitingCase(cloud.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.flags(wait_for_room=600, group='rt')
        self.flags(driver='nova.quota.NoopQuotaDriver', group='quota')
        self.admin = nova_context.get_admin_context()
        self.manager.queue.asks_s = 0.0

    def start_service(self, name, *args, **kwargs):
        service = super().start_service(name, *args, **kwargs)
        if name == 'conductor':
            self.manager = service.manager
        return service

    def flavor_of(self, percent, letter=None, **more):
        return self.make_flavor(
            percent, 1, **({criticality.EXTRA_SPEC: letter} if letter else {}), **more)

    def ask(self, flavor, **kwargs):
        """Ask for a server, and return it as it is when it waits."""
        body = self._build_server(flavor_id=flavor, networks='none', **kwargs)
        server = self.api.post_server({'server': body})
        self.eventually(lambda: self.assertIn(server['id'], self.waiting()))
        return server

    def waiting(self):
        return [each.server for each in waiting.everyone(self.admin)]

    def sweep(self):
        self.manager.place_those_who_wait(self.admin)

    def placed(self, server):
        """Sweep until it is placed: a host tells of room that it has a little later."""
        def leaves():
            self.sweep()
            self.assertNotIn(server['id'], self.waiting())
        self.eventually(leaves)
        return self.becomes(server)

    def another_conductor(self):
        # It asks for periodic tasks, which no test has.
        self.flags(periodic_enable=True)
        other = manager.RTConductorManager(host='other')
        self.flags(periodic_enable=False)
        return other

    def late(self, flavor):
        """Ask for a server that waits although there is room by now."""
        with mock.patch.object(
                tasks.manager.ComputeTaskManager, '_schedule_instances',
                side_effect=exception.NoValidHost(reason='No room.')), mock.patch.object(
                tasks.room, 'is_all_that_lacks', return_value=True):
            return self.ask(flavor)

    def room_is_told(self):
        self.eventually(lambda: self.assertEqual('0%', self.used_on(self.computes['one'])[0]))
        self._run_periodics()

    def status(self, server):
        return self.admin_api.get_server(server['id'])['status']

    def becomes(self, server, status='ACTIVE'):
        return self._wait_for_state_change(server, status)

    def expire(self, server, **changes):
        """Have what a dead attempt, or too long a wait, has left be found now."""
        found = waiting.find(self.admin, server['id'])
        assert waiting.change(self.admin, found, dataclasses.replace(found.mark, **changes))

    def deleted(self, server):
        self._delete_server(server)


class TestQueue(WaitingCase):

    def test_a_server_waits_until_there_is_room(self):
        self.start('one', (cloud.CAP,))
        first = self.boot(self.flavor_of(60))
        second = self.ask(self.flavor_of(60))
        assert self.status(second) == 'BUILD'
        self.sweep()
        assert self.status(second) == 'BUILD'
        self.deleted(first)
        self.placed(second)
        assert self.waiting() == []
        self.assert_settled(second)
        with pytest.raises(exception.BuildRequestNotFound):
            objects.BuildRequest.get_by_instance_uuid(self.admin, second['id'])

    @full.only
    def test_the_most_critical_is_first_then_the_oldest(self):
        self.start('one', (cloud.CAP,))
        first = self.boot(self.flavor_of(60))
        servers = {name: self.ask(self.flavor_of(60, letter)) for name, letter in (
            ('a', 'A'), ('old', 'C'), ('new', 'C'), ('none', None))}
        assert self.waiting() == [
            servers[name]['id'] for name in ('old', 'new', 'a', 'none')]
        for name in ('old', 'new', 'a', 'none'):
            self.deleted(first)
            first = self.placed(servers[name])
        self.assert_settled(first)

    @full.only
    def test_one_round_sends_one_server_to_a_host(self):
        self.start('one', (cloud.CAP,) * 2)
        first = self.boot(self.make_flavor(60, 2))
        others = [self.ask(self.flavor_of(60)) for _ in range(2)]
        self.deleted(first)
        self.room_is_told()
        self.sweep()
        assert self.waiting() == [others[1]['id']]
        for each in others:
            self.placed(each)
        self.assert_settled(*others)

    @full.only
    def test_without_the_option_it_is_told_at_once(self):
        self.flags(wait_for_room=0, group='rt')
        self.start('one', (cloud.CAP,))
        self.boot(self.flavor_of(60))
        self.boot(self.flavor_of(60), state='ERROR')

    def test_who_can_never_fit_does_not_wait(self):
        self.start('one', (cloud.CAP,))
        self.boot(self.make_flavor(10, 1, memory_mb=10_000_000), state='ERROR')
        assert self.waiting() == []

    @full.only
    def test_several_at_once_do_not_wait(self):
        self.start('one', (cloud.CAP,))
        body = self._build_server(flavor_id=self.flavor_of(60), networks='none')
        server = self.api.post_server({'server': {**body, 'min_count': 2, 'max_count': 2}})
        self.becomes(server, 'ERROR')
        assert self.waiting() == []

    @full.only
    def test_if_it_cannot_be_told_whether_waiting_helps_it_fails_at_once(self):
        self.start('one', (cloud.CAP,))
        self.boot(self.flavor_of(60))
        with mock.patch.object(tasks.room, 'is_all_that_lacks', side_effect=ValueError):
            self.boot(self.flavor_of(60), state='ERROR')
        assert self.waiting() == []

    def test_what_passes_is_no_reason_to_give_it_up(self):
        self.start('one', (cloud.CAP,))
        first = self.boot(self.flavor_of(60))
        second = self.ask(self.flavor_of(60))
        self.deleted(first)
        self.room_is_told()
        refuses = mock.patch.object(
            tasks.manager.ComputeTaskManager, '_schedule_instances',
            side_effect=exception.NoValidHost(reason=''))
        with refuses:
            self.sweep()
        assert self.waiting() == [second['id']]
        assert waiting.find(self.admin, second['id']).mark.reason.startswith('No room on one')
        self.manager.queue._tried.clear()
        self.placed(second)

    def test_more_than_the_quota_do_not_wait(self):
        self.flags(driver='nova.quota.DbQuotaDriver', instances=3, group='quota')
        self.start('one', (cloud.CAP,))
        self.boot(self.flavor_of(60))
        for _ in range(2):
            self.ask(self.flavor_of(60))
        self.boot(self.flavor_of(60), state='ERROR')
        assert len(self.waiting()) == 2

    def test_over_the_quota_when_its_turn_comes_it_keeps_nothing(self):
        self.flags(driver='nova.quota.DbQuotaDriver', instances=3, group='quota')
        self.start('one', (cloud.CAP,))
        first = self.boot(self.flavor_of(60))
        second = self.ask(self.flavor_of(60))
        self.deleted(first)
        self.room_is_told()
        self.flags(instances=0, group='quota')
        self.sweep()
        assert 'Quota exceeded' in self.becomes(second, 'ERROR')['fault']['message']
        assert self.allocated_on('one') == 0

    def test_neither_password_nor_files_are_written_down(self):
        self.start('one', (cloud.CAP,))
        self.boot(self.flavor_of(60))
        body = self._build_server(flavor_id=self.flavor_of(60), networks='none')
        server = self.api.post_server({'server': {**body, 'adminPass': 'not-for-others'}})
        self.eventually(lambda: self.assertEqual([server['id']], self.waiting()))
        assert 'not-for-others' not in waiting.find(self.admin, server['id']).row

    def test_one_that_can_never_be_read_is_given_up_in_time(self):
        self.start('one', (cloud.CAP,))
        self.boot(self.flavor_of(60))
        second = self.ask(self.flavor_of(60))
        self.expire(second, until_s=time.time())
        with mock.patch.object(waiting, 'request_of', return_value=''):
            self.sweep()
        self.becomes(second, 'ERROR')

    def test_after_its_time_it_has_the_fault_of_today(self):
        self.start('one', (cloud.CAP,))
        self.boot(self.flavor_of(60))
        second = self.ask(self.flavor_of(60))
        self.expire(second, until_s=time.time())
        self.sweep()
        fault = self.becomes(second, 'ERROR')['fault']['message']
        assert fault.startswith('No valid host was found. No room on one: '), fault
        assert self.waiting() == []

    @full.only
    def test_it_is_deleted_at_once(self):
        self.start('one', (cloud.CAP,))
        first = self.boot(self.flavor_of(60))
        second = self.ask(self.flavor_of(60))
        self.sweep()
        self.deleted(second)
        assert self.waiting() == []
        self.sweep()
        for kind in (objects.InstanceMapping, objects.RequestSpec):
            with pytest.raises(exception.NotFound):
                kind.get_by_instance_uuid(self.admin, second['id'])
        self.deleted(first)
        self.sweep()
        self.assert_settled()

    @full.only
    def test_it_may_be_renamed_meanwhile(self):
        self.start('one', (cloud.CAP,))
        first = self.boot(self.flavor_of(60))
        second = self.ask(self.flavor_of(60))
        self.api.put_server(second['id'], {'server': {'name': 'other'}})
        self.deleted(first)
        assert self.placed(second)['name'] == 'other'


class TestFaults(WaitingCase):

    def setUp(self):
        super().setUp()
        self.start('one', (cloud.CAP,))
        first = self.boot(self.flavor_of(60))
        self.second = self.ask(self.flavor_of(60))
        self.deleted(first)
        self.room_is_told()

    def kill(self, target, name, after=False):
        """Kill the conductor before or after it calls this."""
        real = getattr(target, name)

        def dies(*args, **kwargs):
            if after:
                real(*args, **kwargs)
            raise killed.Killed

        with mock.patch.object(target, name, dies), contextlib.suppress(killed.Killed):
            self.sweep()
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
