# SPDX-License-Identifier: Apache-2.0
"""What a test raises in a service to kill it, and where."""

import contextlib
from unittest import mock

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
