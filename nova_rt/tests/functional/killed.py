# SPDX-License-Identifier: Apache-2.0
"""What a test raises in a service to kill it, and where."""

import contextlib
import itertools
import threading
from unittest import mock

from nova.db.main import api as db
from nova.scheduler.client import report

from nova_rt.testing import full

# What outlives a service: databases, Placement, and its host's kernel and disks.
DATABASE = ('instance_update_and_get_original', 'instance_extra_update_by_uuid',
            'migration_update')
PLACEMENT = ('put', 'post', 'delete')
HOST = ('change_reservation', 'confirm_migration')

# From one write before which a service dies to the next that is tried.
STEP = 1 if full.WANTED else 3

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

    def writers(self, host):
        return [(owner, name) for owner, names in (
            (db, DATABASE), (report.SchedulerReportClient, PLACEMENT),
            (self.computes[host].manager.driver, HOST)) for name in names]

    def killed_at(self, number, host, target, method, **action):
        """Act on self.server; have a service die in a method, and start it again.

        :param number: of the write before which it dies, from 0 on
        :returns: whether the method had as many
        """
        wrapped, ended = getattr(target, method), threading.Event()
        writes, died = itertools.count(), []

        def mortal(write):
            def do(*args, **kwargs):
                if next(writes) >= number:
                    died.append(method)
                    # Also where something else is cleaned up after it.
                    raise Killed
                return write(*args, **kwargs)
            return do

        def run(*args, **kwargs):
            with contextlib.ExitStack() as patches:
                patches.callback(ended.set)
                for owner, name in self.writers(host):
                    patches.enter_context(mock.patch.object(
                        owner, name, mortal(getattr(owner, name))))
                return wrapped(*args, **kwargs)
        with mock.patch.object(target, method, run):
            self.api.post_server_action(self.server['id'], action)
            self.assertTrue(ended.wait(60))
        if died:
            self.start(host)
        return bool(died)
