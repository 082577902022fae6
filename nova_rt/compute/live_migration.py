# SPDX-License-Identifier: Apache-2.0
"""The sides of a live migration, on an instance that the source has had since before.

The destination has claimed for it, and saved that, meanwhile.
"""

from __future__ import annotations

from nova import context as nova_context
from nova import objects

from nova_rt.instance import holdings


def has_left(context: nova_context.RequestContext, instance: objects.Instance) -> bool:
    """Make a server hold what it does at its destination; to be saved with its host.

    :returns: whether it has a reservation
    """
    if not _read_sides(context, instance):
        return False
    holdings.switch_side(instance, holdings.NEW)
    return True


def has_stayed(context: nova_context.RequestContext, instance: objects.Instance) -> None:
    """Forget the sides of a move that failed; to be saved with its end."""
    if _read_sides(context, instance):
        holdings.end_move(instance)


def _read_sides(context: nova_context.RequestContext, instance: objects.Instance) -> bool:
    if holdings.holding_of(instance) is None:
        return False
    instance.system_metadata = objects.Instance.get_by_uuid(
        context, instance.uuid, expected_attrs=['system_metadata']).system_metadata
    return True
