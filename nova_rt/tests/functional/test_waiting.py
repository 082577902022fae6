# SPDX-License-Identifier: Apache-2.0
"""New servers that wait for room: with Nova's real API, conductor, scheduler and Placement."""

import time
from unittest import mock

from nova import exception
from nova import objects
from oslo_config import cfg
import pytest

from nova_rt.conductor import tasks
from nova_rt.instance import waiting
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import waiting_case

CONF = cfg.CONF


class TestQueue(waiting_case.WaitingCase):

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

    @full.only
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

    @full.only
    def test_neither_password_nor_files_are_written_down(self):
        self.start('one', (cloud.CAP,))
        self.boot(self.flavor_of(60))
        body = self._build_server(flavor_id=self.flavor_of(60), networks='none')
        server = self.api.post_server({'server': {**body, 'adminPass': 'not-for-others'}})
        self.eventually(lambda: self.assertEqual([server['id']], self.waiting()))
        assert 'not-for-others' not in waiting.find(self.admin, server['id']).row

    @full.only
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
