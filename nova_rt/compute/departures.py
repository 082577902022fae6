# SPDX-License-Identifier: Apache-2.0
"""Servers that leave for another host, which is then to start them.

Nova saves first that a server is there, and then asks for it. Should nobody ever do it, the server
stays there, and its claim ends: it must not hold there the pCPUs that it had on its source. One
that could not leave stays on its source, and forgets the sides of its move.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from nova import context as nova_context
from nova import objects
from oslo_utils import excutils

from nova_rt.compute import due_shares
from nova_rt.compute import unmoved
from nova_rt.instance import holdings


@contextlib.contextmanager
def watched(context: nova_context.RequestContext, instance: objects.Instance) -> Iterator[None]:
    """Have a server hold nothing but the sides of its move from the save on that moves it."""
    source, save = instance.host, instance.save

    def leave(expected_vm_state: object = None, expected_task_state: object = None,
              admin_state_reset: bool = False) -> None:
        if instance.host != source and holdings.has_sides(instance):
            holdings.set_pcpus(instance, None)
            # For Placement it has the new side there.
            due_shares.mark(instance)
        save(expected_vm_state, expected_task_state, admin_state_reset)

    # Between its change of the host and the save, Nova calls nothing that could be overridden.
    instance.save = leave  # type: ignore[method-assign]
    try:
        yield
    except Exception:
        with excutils.save_and_reraise_exception():
            stay(context, instance.uuid, source)
    finally:
        del instance.save


def stay(context: nova_context.RequestContext, server: str, source: str | None) -> None:
    """Forget both sides of the move of a server that could not leave, and save it.

    :param server: its uuid
    :param source: the host that it was to leave
    """
    with unmoved.fetched(context, server) as instance:
        if instance.host == source:
            holdings.end_move(instance)
            instance.save()


def arrive(instance: objects.Instance) -> None:
    """Have a server hold the new side of its move, to be saved with its flavor."""
    holdings.switch_side(instance, holdings.NEW)
    due_shares.unmark(instance)


def has_left(instance: objects.Instance, migration: objects.Migration) -> bool:
    """Return whether a server with a reservation is no longer on the source of its move."""
    return instance.host != migration.source_compute and holdings.has_sides(instance)
