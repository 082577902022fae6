# SPDX-License-Identifier: Apache-2.0
"""An elastic server makes room, and somebody dies, refuses or comes between."""

from unittest import mock

from nova import exception
from nova import objects
from nova.compute import rpcapi

from nova_rt import reservation
from nova_rt.compute import reservation_change
from nova_rt.conductor import preemption
from nova_rt.conductor import tasks
from nova_rt.instance import hint_update
from nova_rt.instance import holdings
from nova_rt.instance import waiting
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import killed
from nova_rt.tests.functional import preemption_case


class TestFaults(preemption_case.PreemptionCase):

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
