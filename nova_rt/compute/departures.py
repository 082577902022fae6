# SPDX-License-Identifier: Apache-2.0
"""Servers that have left for another host, which is still to start them.

Nova saves first that a server is there, and then asks for it. Should nobody ever do it, the server
stays there, and its claim ends: it must not hold there the pCPUs that it had on its source.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from nova import objects

from nova_rt.compute import due_shares
from nova_rt.instance import holdings


@contextlib.contextmanager
def watched(instance: objects.Instance) -> Iterator[None]:
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
    finally:
        del instance.save


def arrive(instance: objects.Instance) -> None:
    """Have a server hold the new side of its move, to be saved with its flavor."""
    holdings.switch_side(instance, holdings.NEW)
    due_shares.unmark(instance)


def has_left(instance: objects.Instance, migration: objects.Migration) -> bool:
    """Return whether a server with a reservation is no longer on the source of its move."""
    return instance.host != migration.source_compute and holdings.has_sides(instance)
