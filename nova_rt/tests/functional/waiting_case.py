# SPDX-License-Identifier: Apache-2.0
"""What tests of the queue of the waiting have in common."""

import contextlib
import dataclasses
from unittest import mock

from nova import context as nova_context
from nova import exception
from oslo_config import cfg

from nova_rt import criticality
from nova_rt.conductor import manager
from nova_rt.conductor import tasks
from nova_rt.instance import waiting
from nova_rt.testing import cloud
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

    def dies(self, target, name, after=False):
        """Kill the conductor before or after it calls this, in a sweep."""
        real = getattr(target, name)

        def killed_here(*args, **kwargs):
            if after:
                real(*args, **kwargs)
            raise killed.Killed

        with mock.patch.object(target, name, killed_here), contextlib.suppress(killed.Killed):
            self.sweep()

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
