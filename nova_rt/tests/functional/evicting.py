# SPDX-License-Identifier: Apache-2.0
"""A host that stops servers for more critical ones, for tests.

Nova's services are real; libvirt and the kernel's budgets are stand-ins, and so is what
hears of misses.
"""

import dataclasses
import time

from oslo_db import exception as db_exception

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt import kinds
from nova_rt.instance import eviction
from nova_rt.reaction import threshold
from nova_rt.testing import cloud

AFTER = threshold.Threshold(2, 60.0)


class EvictingTestCase(cloud.CloudTestCase):
    """A host that stops servers for others, and what tests do with it."""

    def setUp(self):
        super().setUp()
        self.flags(hear_misses=True, lend_after_misses=2, miss_window=60.0, lend_for=600.0,
                   evict_on_misses=True, group='rt')
        # The processes of the stand-ins for containers are none, and miss nothing.
        self.stub_out('nova_rt.reaction.ears.LISTEN', {
            kinds.Kind.CONTAINER: lambda *args: True})
        self.stub_out('nova_rt.monitor.watcher.Watcher.hears', lambda *args: True)
        # Nobody else waits here.
        self.stub_out('nova_rt.compute.relief._REST', 0)
        self.start('host1')

    def server(self, percents, letter=None, vcpus=cloud.PCPUS, least_percents=None, **kwargs):
        return self.boot(self.make_flavor(percents, vcpus, **{
            name: value for name, value in (
                (criticality.EXTRA_SPEC, letter),
                (elastic.EXTRA_SPEC, least_percents and str(least_percents * 1000))) if value}),
            **kwargs)

    @property
    def manager(self):
        return self.computes['host1'].manager

    @property
    def reactor(self):
        return self.manager._reactions._reactor

    def miss(self, server):
        """Have the reactor help a server as when it has missed too many deadlines."""
        self.reactor.look_again()
        number = self.manager.driver.running()[server['id']].pid
        self.eventually(lambda: self.assertEqual(
            number, self.reactor._known.get(server['id'])))
        self.reactor._help(server['id'], AFTER)

    def may_press(self, server):
        """Let the time be over after which more is done for one that has something on loan."""
        self.reactor._helped[server['id']] = dataclasses.replace(
            self.reactor._helped[server['id']], press_s=0.0)

    def press(self, server):
        """Have one that has something on loan go on missing deadlines."""
        self.may_press(server)
        self.miss(server)

    def evict(self):
        return self.manager.evictions.evict(self.critical['id'], cloud.CAP, time.monotonic())

    def end_loan(self, server):
        self.manager.driver.reservations.give_back(
            self.manager.driver.running()[server['id']].pid)
        self.reactor._helped.clear()

    def pass_time(self):
        """Let all be as when the time of each eviction is over."""
        self.until(0)

    def until(self, time_s):
        for server, mark in list(self.manager.rt.evicted.items()):
            instance = self.instance_of({'id': server})
            eviction.put(instance, dataclasses.replace(mark, until_s=int(time_s)))
            instance.save()
        self._run_periodics()

    def look(self):
        self.manager._look_after_evicted(self.cell_context())

    def state(self, server):
        return self.api.get_server(server['id'])['status']

    def is_eventually(self, server, state):
        self.eventually(lambda: self.assertEqual((state, None), (
            self.state(server), self.instance_of(server).task_state)))

    def has(self, server):
        """Return what a server has in the kernel, by pCPU in percent."""
        return [bandwidth.percent(each) for each in self.kernel_of(
            self.computes['host1']).bandwidths(f'machine/{server["id"]}')]

    def told(self, server, action='rt_evict'):
        actions = self.api.api_get(
            f'servers/{server["id"]}/os-instance-actions').body['instanceActions']
        return [each['message'] for each in actions if each['action'] == action]

    def evicted(self, misser, victim):
        """Let a server miss until another is stopped and it has what that held."""
        self.miss(misser)
        self.is_eventually(victim, 'SHUTOFF')
        self.eventually(lambda: self.assertTrue(self.may_ask(misser)))
        self.miss(misser)

    def may_ask(self, server):
        """Return whether the reactor knows that there is more room."""
        helped = self.reactor._helped.get(server['id'])
        return helped is None or not helped.until_s


def away(*args, **kwargs):
    raise db_exception.DBConnectionError
