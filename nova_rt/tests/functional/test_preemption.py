# SPDX-License-Identifier: Apache-2.0
"""Room that elastic servers make for a more critical one that waits: with Nova's real API,
conductor, scheduler and Placement; libvirt and the kernel are stand-ins.
"""

import contextlib
from unittest import mock

from nova import exception
from nova import objects
from nova.compute import rpcapi
from oslo_config import cfg
import pytest

from nova_rt import elastic
from nova_rt import reservation
from nova_rt.compute import reservation_change
from nova_rt.conductor import preemption
from nova_rt.conductor import tasks
from nova_rt.instance import compute_call
from nova_rt.instance import flavors
from nova_rt.instance import hint_update
from nova_rt.instance import holdings
from nova_rt.instance import preempted
from nova_rt.instance import waiting
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import waiting_case
from nova_rt.view import holders
from nova_rt.view import servers

CONF = cfg.CONF


class PreemptionCase(waiting_case.WaitingCase):

    def setUp(self):
        super().setUp()
        self.flags(preempt='elastic', group='rt')

    def elastic_of(self, percent, least, letter='A'):
        return self.flavor_of(percent, letter, **{elastic.EXTRA_SPEC: str(least * 1000)})

    def percent_of(self, server):
        return flavors.reservation_of(self.instance_of(server).flavor).runtime_us // 1000

    def hints_of(self, server):
        return objects.RequestSpec.get_by_instance_uuid(
            self.admin, server['id']).scheduler_hints or {}

    def owed(self):
        found = servers.page(self.admin, holders.Scope(None, None), 10).servers
        return {each.uuid: each.owed_us for each in found}

    def given_back(self, server):
        def has_it():
            self.sweep()
            assert preempted.mark_of(self.instance_of(server)) is None
        self.eventually(has_it)

    def told(self, server):
        return [each.message for each in objects.InstanceActionList.get_by_instance_uuid(
            self.cell_context(), server['id']) if each.action == 'rt_preempt']


class TestPreemption(PreemptionCase):

    def test_an_elastic_server_gives_what_is_needed_and_has_it_back(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20))
        hard = self.ask(self.flavor_of(50, 'B'))
        self.placed(hard)
        assert self.percent_of(soft) == 45
        self.assert_settled(soft, hard)
        assert '45% of a CPU for each vCPU instead of 60%' in self.told(soft)[0]
        assert hard['id'] not in self.told(soft)[0]
        assert self.owed() == {soft['id']: 60_000, hard['id']: None}
        self.sweep()
        assert self.percent_of(soft) == 45, 'it was given back what is not there'
        self.deleted(hard)
        self.given_back(soft)
        assert self.percent_of(soft) == 60
        assert self.owed() == {soft['id']: None}
        assert self.hints_of(soft) == {}
        assert self.instance_of(soft).task_state is None
        assert 'all of its reservation again' in self.told(soft)[-1] or \
            'all of its reservation again' in self.told(soft)[0]
        self.assert_settled(soft)

    def test_who_gives_nothing(self):
        self.start('one', (cloud.CAP,))
        servers = [self.boot(flavor) for flavor in (
            self.elastic_of(30, 10, 'B'), self.elastic_of(30, 10, None), self.flavor_of(30, 'A'))]
        hard = self.ask(self.flavor_of(20, 'B'))
        for _ in range(2):
            self.manager.queue._tried.clear()
            self.sweep()
        assert self.waiting() == [hard['id']]
        assert [self.percent_of(each) for each in servers] == [30, 30, 30]
        none = self.ask(self.flavor_of(20))
        self.sweep()
        assert self.waiting() == [hard['id'], none['id']]

    @full.only
    def test_never_below_the_least(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 50))
        self.ask(self.flavor_of(50, 'C'))
        self.sweep()
        assert self.percent_of(soft) == 60

    @full.only
    def test_without_the_option_nobody_gives(self):
        self.flags(preempt='never', group='rt')
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20))
        self.ask(self.flavor_of(50, 'C'))
        self.sweep()
        assert self.percent_of(soft) == 60

    @full.only
    def test_what_its_user_has_changed_since_stays(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20))
        hard = self.ask(self.flavor_of(50, 'B'))
        self.placed(hard)
        hint_update.change(self.admin, soft['id'], reservation.Times(30_000), cloud.CAP)
        self.deleted(hard)
        for _ in range(2):
            self.sweep()
        assert self.percent_of(soft) == 30

    @full.only
    def test_what_a_hint_asked_for_is_asked_for_again(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20), hints={'cpu.rt_runtime_us': '70000'})
        hard = self.ask(self.flavor_of(50, 'B'))
        self.placed(hard)
        assert self.percent_of(soft) == 45
        self.deleted(hard)
        self.given_back(soft)
        assert self.percent_of(soft) == 70
        assert self.hints_of(soft) == {'cpu.rt_runtime_us': ['70000']}

    @full.only
    def test_a_more_critical_one_that_waits_comes_first(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 40))
        hard = self.ask(self.flavor_of(50, 'C'))
        self.placed(hard)
        more = self.ask(self.flavor_of(50, 'B'))
        self.deleted(hard)
        self.placed(more)
        assert self.percent_of(soft) == 45
        self.assert_settled(soft, more)

    @full.only
    def test_one_that_is_migrated_meanwhile_has_it_back_there(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20))
        hard = self.ask(self.flavor_of(50, 'B'))
        self.placed(hard)
        self.start('two', (cloud.CAP,))
        self._migrate_server(soft)
        self._wait_for_state_change(soft, 'VERIFY_RESIZE')
        self._confirm_resize(soft)
        self.given_back(soft)
        assert self.percent_of(soft) == 60
        self.assert_settled(soft, hard)

    @full.only
    def test_one_that_is_to_stay_as_it_is_does(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20))
        hard = self.ask(self.flavor_of(50, 'B'))
        self.placed(hard)
        hint_update.change(self.admin, soft['id'], reservation.Times(45_000), cloud.CAP)
        self.deleted(hard)
        for _ in range(2):
            self.sweep()
        assert self.percent_of(soft) == 45

    def test_one_that_is_to_stay_as_it_is_does_though_it_is_being_given_back(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20))
        hard = self.ask(self.flavor_of(50, 'B'))
        self.placed(hard)
        self.deleted(hard)

        def has_room(instance, wanted):
            hint_update.change(self.admin, soft['id'], reservation.Times(45_000), cloud.CAP)
            return True
        with pytest.raises(compute_call.RefusedError, match='another reservation meanwhile'):
            hint_update.give_back(self.admin, soft['id'], has_room)
        assert self.percent_of(soft) == 45
        assert self.owed() == {soft['id']: None}
        self.assert_settled(soft)

    @full.only
    def test_one_who_cannot_be_helped_does_not_keep_it_from_others(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20))
        hard = self.ask(self.flavor_of(50, 'B'))
        self.placed(hard)
        self.ask(self.flavor_of(90, 'C'))
        self.deleted(hard)
        self.given_back(soft)
        assert self.percent_of(soft) == 60

    @full.only
    def test_it_is_given_back_at_once_if_that_was_in_vain(self):
        self.start('one', (cloud.CAP,))
        soft = self.boot(self.elastic_of(60, 20))
        hard = self.ask(self.flavor_of(50, 'B'))
        with mock.patch.object(tasks.manager.ComputeTaskManager,
                               '_schedule_instances',
                               side_effect=exception.NoValidHost(reason='no')):
            for _ in range(3):
                self.manager.queue._tried.clear()
                self.sweep()
        assert self.percent_of(soft) == 60
        assert len(self.told(soft)) == 2, 'it was shrunk more than once'
        assert self.waiting() == [hard['id']]

    @full.only
    def test_two_are_needed_and_one_refuses(self):
        self.start('one', (cloud.CAP,))
        softs = [self.boot(self.elastic_of(45, 20)) for _ in range(2)]
        hard = self.ask(self.flavor_of(50, 'B'))
        refuser = max(each['id'] for each in softs)
        real = hint_update.shrink

        def refuses(context, server, runtime_us):
            if server == refuser:
                raise compute_call.RefusedError('It is so.')
            return real(context, server, runtime_us)

        with mock.patch.object(hint_update, 'shrink', refuses):
            self.sweep()
        assert [self.percent_of(each) for each in softs] == [45, 45]
        assert self.waiting() == [hard['id']]

    @full.only
    def test_one_that_is_deleted_meanwhile_is_owed_nothing(self):
        self.start('one')
        soft, other = (self.boot(self.elastic_of(60, 20)) for _ in range(2))
        hard = self.ask(self.make_flavor(60, cloud.PCPUS, **{'hw:cpu.rt_criticality': 'C'}))
        self.placed(hard)
        assert (self.percent_of(soft), self.percent_of(other)) == (35, 35)
        self.deleted(soft)
        self.deleted(hard)
        self.given_back(other)
        self.assert_settled(other)


class TestFaults(PreemptionCase):

    def setUp(self):
        super().setUp()
        self.start('one', (cloud.CAP,))
        self.soft = self.boot(self.elastic_of(60, 20))
        self.hard = self.ask(self.flavor_of(50, 'C'))

    def ends_well(self):
        """Assert that all goes on as if nothing had been."""
        found = waiting.everyone(self.admin)
        if found and found[0].mark.holder:
            self.expire(self.hard, held_until_s=0.0)
        self.manager.queue._tried.clear()
        self.placed(self.hard)
        self.eventually(lambda: (self.sweep(), self.assertIsNone(
            self.instance_of(self.soft).task_state)))
        assert self.percent_of(self.soft) == 45
        self.assert_settled(self.soft, self.hard)
        self.deleted(self.hard)
        self.given_back(self.soft)
        assert self.percent_of(self.soft) == 60
        assert self.hints_of(self.soft) == {}
        self.assert_settled(self.soft)

    def dies(self, target, name, after=False):
        """Kill the conductor before or after it calls this, in a sweep."""
        real = getattr(target, name)

        def killed_here(*args, **kwargs):
            if after:
                real(*args, **kwargs)
            raise killed.Killed

        with mock.patch.object(target, name, killed_here), contextlib.suppress(killed.Killed):
            self.sweep()

    @full.only
    def test_killed_before_anybody_is_shrunk(self):
        self.dies(hint_update, '_call')
        self.ends_well()

    @full.only
    def test_killed_before_the_hint_is_stored(self):
        self.dies(hint_update, '_call', after=True)
        assert self.instance_of(self.soft).system_metadata[holdings.HINT_DUE] == 'yes'
        self.ends_well()

    def test_a_change_is_finished_though_another_waits(self):
        self.dies(hint_update, '_call', after=True)
        self.expire(self.hard, held_until_s=0.0)
        with mock.patch.object(tasks.manager.ComputeTaskManager,
                               '_schedule_instances',
                               side_effect=exception.NoValidHost(reason='No room on one: x.')):
            self.eventually(lambda: (self.sweep(), self.assertIsNone(
                self.instance_of(self.soft).task_state)))
        assert self.percent_of(self.soft) == 45, 'it was given back too early'
        self.ends_well()

    def test_killed_while_nova_saves_one_that_is_shrunk_it_is_still_owed_what_it_had(self):
        with killed.in_change(self.computes['one'], killed.FLAVOR_SAVED) as died:
            self.sweep()
        self.assertNotEqual([], died)
        self.start('one')
        self.ends_well()

    @full.only
    def test_one_that_is_locked_is_left_alone_but_given_back(self):
        self.api.post_server_action(self.soft['id'], {'lock': None})
        self.sweep()
        assert self.percent_of(self.soft) == 60
        self.api.post_server_action(self.soft['id'], {'unlock': None})
        self.manager.queue._tried.clear()
        self.placed(self.hard)
        self.api.post_server_action(self.soft['id'], {'lock': None})
        self.deleted(self.hard)
        self.given_back(self.soft)
        assert self.percent_of(self.soft) == 60

    @full.only
    def test_killed_after_somebody_was_shrunk(self):
        self.dies(preemption, '_shrink', after=True)
        self.ends_well()

    @full.only
    def test_killed_while_it_is_given_back(self):
        self.placed(self.hard)
        self.deleted(self.hard)
        self.room_is_45()
        self.dies(hint_update, '_call', after=True)
        self.given_back(self.soft)
        assert self.percent_of(self.soft) == 60
        assert self.hints_of(self.soft) == {}
        assert self.instance_of(self.soft).task_state is None
        self.assert_settled(self.soft)

    def room_is_45(self):
        self.eventually(lambda: self.assertEqual('45%', self.used_on(self.computes['one'])[0]))

    @full.only
    def test_what_another_is_on_its_way_to_is_not_given_back(self):
        held = []
        real = rpcapi.ComputeAPI.build_and_run_instance
        with mock.patch.object(rpcapi.ComputeAPI, 'build_and_run_instance',
                               lambda *args, **kwargs: held.append((args, kwargs))):
            self.eventually(lambda: (self.sweep(), self.assertTrue(held)))
        with mock.patch.object(reservation_change.ReservationChange, '_begin',
                               side_effect=AssertionError('it is tried')) as tried:
            self.sweep()
        assert not tried.called
        (args, kwargs), = held
        real(*args, **kwargs)
        self.becomes(self.hard)
        assert self.percent_of(self.soft) == 45

    @full.only
    def test_the_host_refuses(self):
        with mock.patch.object(reservation_change.ReservationChange, '_begin',
                               side_effect=exception.ResizeError(reason='it is so')):
            self.sweep()
        assert self.percent_of(self.soft) == 60
        assert self.waiting() == [self.hard['id']]
        self.ends_well()

    def test_resized_just_before(self):
        real = hint_update._call

        def late(cell, instance, wanted, mark=None):
            if mark is not None:
                # As a resize that took nothing else into account would leave it.
                resized = self.instance_of(self.soft)
                resized.flavor.extra_specs['hw:cpu.rt_criticality'] = 'C'
                resized.instance_type_id += 1
                resized.save()
            real(cell, instance, wanted, mark)

        with mock.patch.object(hint_update, '_call', late):
            self.sweep()
        assert self.percent_of(self.soft) == 60
        assert self.waiting() == [self.hard['id']]

    @full.only
    def test_changed_by_its_user_just_before(self):
        real = hint_update._call

        def late(cell, instance, wanted, mark=None):
            if mark is not None:
                real(cell, instance, wanted.with_times(reservation.Times(55_000)))
                hint_update._finish(objects.RequestSpec.get_by_instance_uuid(
                    self.admin, instance.uuid), holdings.fetch(cell, instance.uuid))
            real(cell, instance, wanted, mark)

        with mock.patch.object(hint_update, '_call', late):
            self.sweep()
        assert self.percent_of(self.soft) == 55
        assert self.waiting() == [self.hard['id']]
