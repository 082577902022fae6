# SPDX-License-Identifier: Apache-2.0
"""Room that elastic servers make for a more critical one that waits: with Nova's real API,
conductor, scheduler and Placement; libvirt and the kernel are stand-ins.
"""

from unittest import mock

from nova import exception
import pytest

from nova_rt import reservation
from nova_rt.conductor import tasks
from nova_rt.instance import compute_call
from nova_rt.instance import hint_update
from nova_rt.testing import cloud
from nova_rt.testing import full
from nova_rt.tests.functional import preemption_case


class TestPreemption(preemption_case.PreemptionCase):

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
