# SPDX-License-Identifier: Apache-2.0
"""What a test raises in a service to kill it, and where."""

import contextlib
import itertools
import threading
from unittest import mock

import fixtures
from nova import service
from nova.db.main import api as db
from nova.scheduler.client import report
from nova.servicegroup.drivers import db as servicegroup

from nova_rt.testing import full

# What outlives a service: databases, Placement, and its host's kernel and disks.
DATABASE = ('instance_update_and_get_original', 'instance_extra_update_by_uuid',
            'migration_update', 'instance_destroy')
PLACEMENT = ('put', 'post', 'delete')
HOST = ('change_reservation', 'confirm_migration', 'spawn', 'destroy', 'power_on', 'power_off',
        'reboot', 'suspend', 'resume', 'snapshot', 'pause', 'unpause', 'soft_delete', 'restore',
        'rescue', 'unrescue')
KERNEL = ('write',)

# From one write before which a service dies to the next that is tried.
STEP = 1 if full.WANTED else 3
# The same where each takes several restarts.
LONG_STEP = 1 if full.WANTED else 6

# What Nova's Instance.save() calls last: the flavor is saved by then.
FLAVOR_SAVED = 'nova.db.main.api.instance_update_and_get_original'


class Killed(BaseException):
    """The service whose thread this is has been killed.

    No exception that Nova handles: nothing is rolled back or cleaned up.
    """


@contextlib.contextmanager
def in_change(compute, called, error=Killed):
    """Have a service die in a change of a reservation, when it calls something.

    :param called: its name; None: before all else
    :param error: what is raised
    :returns: what says afterwards whether it has died
    """
    changes, died = compute.manager.reservation_change, []
    change = changes._change

    def die(*args):
        died.append(args)
        if called:
            with mock.patch(called, side_effect=error):
                change(*args)
        raise error
    with (mock.patch.object(changes, '_change', die),
          mock.patch.object(changes, 'undo', side_effect=error)):
        yield died


class AtAnyWrite:
    """Kills the service of a host before any of its writes; for a cloud's test case."""

    DEATH = Killed

    def setUp(self):
        # From Nova 34 on, it keeps the methods that were called before they are wrapped.
        self.useFixture(fixtures.MockPatchObject(
            service, '_TrackingEndpointWrapper', lambda endpoint, *args: endpoint, create=True))
        # Services that are started again and again never get to report that they are up.
        self.useFixture(fixtures.MockPatchObject(
            servicegroup.DbDriver, 'is_up', lambda driver, service: True))
        super().setUp()

    def writers(self, host):
        driver = self.computes[host].manager.driver
        return [(owner, name) for owner, names in (
            (db, DATABASE), (report.SchedulerReportClient, PLACEMENT),
            (driver, HOST), (getattr(driver, 'kernel', None), KERNEL))
            for name in names if hasattr(owner, name)]

    def killed_at(self, number, host, target, method, **action):
        """Act on self.server; have a service die in a method, and start it again.

        :param number: of the write before which it dies, from 0 on
        :returns: whether the method had as many
        """
        with self.killing(number, host, target, method) as died:
            self.api.post_server_action(self.server['id'], action)
        return bool(died)

    def unlock(self):
        """Reset the state of self.server, as an operator does, if an operation still locks it."""
        if self.instance_of(self.server).task_state is not None:
            self.admin_api.post_server_action(
                self.server['id'], {'os-resetState': {'state': 'error'}})

    def assert_at_rest(self):
        """Assert that all say the same of self.server, once hosts have looked again."""
        self._run_periodics()
        self.assert_settled(self.server)
        self.assert_audited()

    def end_server(self):
        """Delete self.server, of which nothing is left then."""
        # Nova may have put it into ERROR.
        self._delete_server(self.api.get_server(self.server['id']))
        self._run_periodics()
        self.assert_settled()

    @contextlib.contextmanager
    def killing(self, number, host, target, method, dead=lambda: None):
        """Have a service die in a method, which is called meanwhile; start it again afterwards.

        :param number: of the write before which it dies, from 0 on
        :param dead: what happens before it is started again
        :returns: what says afterwards whether the method had as many
        """
        wrapped, ended = getattr(target, method), threading.Event()
        writes, died = itertools.count(), []

        def run(*args, **kwargs):
            thread = threading.get_ident()

            def mortal(write):
                def do(*args, **kwargs):
                    # Other services share the process.
                    if threading.get_ident() == thread and next(writes) >= number:
                        died.append(write.__name__)
                        # Also where something else is cleaned up after it.
                        raise self.DEATH
                    return write(*args, **kwargs)
                return do
            with contextlib.ExitStack() as patches:
                patches.callback(ended.set)
                for owner, name in self.writers(host):
                    patches.enter_context(mock.patch.object(
                        owner, name, mortal(getattr(owner, name))))
                return wrapped(*args, **kwargs)
        with mock.patch.object(target, method, run):
            yield died
            self.assertTrue(ended.wait(60))
        if died:
            dead()
            self.start(host)
