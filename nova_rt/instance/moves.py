# SPDX-License-Identifier: Apache-2.0
"""What servers hold on the hosts that they move between.

From its claim until it is confirmed or reverted, a server holds the old side
on its source and the new side on its destination. Its host changes on the
way, its flavor and pCPUs only later, in one step.
"""

from __future__ import annotations

from collections.abc import Iterator

from nova import context as nova_context
from nova import objects
from nova.compute import task_states

from nova_rt import ledger
from nova_rt.instance import holdings
from nova_rt.instance import in_place

# Host and node, as Nova names a place.
Place = tuple[str, str]

# What an instance needs to be loaded with.
ATTRIBUTES = ('system_metadata', 'flavor', 'migration_context')


def source(migration: objects.Migration) -> Place:
    """Return where a move comes from."""
    return migration.source_compute, migration.source_node


def destination(migration: objects.Migration) -> Place:
    """Return where a move goes to."""
    return migration.dest_compute, migration.dest_node


def flavor(instance: objects.Instance, migration: objects.Migration,
           prefix: str) -> objects.Flavor | None:
    """Return the flavor of one side of a move; only a resize has two."""
    if not migration.is_resize:
        return instance.flavor
    return (instance.old_flavor if prefix == holdings.OLD
            else instance.new_flavor)


def side(instance: objects.Instance, migration: objects.Migration,
         prefix: str) -> ledger.Holding | None:
    """Return what a server holds for one side of a move."""
    return holdings.holding_of(
        instance, flavor(instance, migration, prefix), prefix)


def sides(instance: objects.Instance, migration: objects.Migration,
          here: Place) -> tuple[ledger.Holding | None, ledger.Holding | None]:
    """Return what a moving server holds here: its own, and a side of its move."""
    is_here = (instance.host, instance.node) == here
    if not (is_by(instance, migration) and holdings.has_sides(instance)):
        return in_place.occupied_by(instance) if is_here else None, None
    incoming = destination(migration) == here
    outbound = source(migration) == here
    own = holdings.holding_of(instance)
    if incoming and outbound:
        if in_place.begun(instance):
            return in_place.occupied_by(instance), None
        switched = instance.instance_type_id != migration.old_instance_type_id
        return own, side(instance, migration,
                         holdings.OLD if switched else holdings.NEW)
    if incoming:
        return None, side(instance, migration, holdings.NEW)
    if outbound and not is_here:
        return None, side(instance, migration, holdings.OLD)
    return own, None


def is_by(instance: objects.Instance, migration: objects.Migration) -> bool:
    """Return whether a server that is under way is so by this migration.

    For Nova, one that failed is not over: it is offered again whenever the
    server does something that looks like a move, as what changes it in place
    without a resize does.
    """
    move = instance.migration_context
    return move is not None and move.migration_id == migration.id and not (
        in_place.by_hint(instance) or in_place.by_move(instance))


def coming_back(context: nova_context.RequestContext, here: Place,
                ) -> Iterator[tuple[objects.Instance, ledger.Holding | None]]:
    """Yield servers whose move from or to here is being reverted.

    The destination has marked the move as reverted and given up the new side,
    and the source has not taken the server back yet: its host is still the
    destination, and Nova's query for moves in progress leaves it out.

    :returns: each server with what it holds here: the old side on its source
    """
    reverted = {
        migration.id: migration for migration in
        objects.MigrationList.get_by_filters(
            context, {'host': here[0], 'status': 'reverted'})
        if here in (source(migration), destination(migration))}
    if not reverted:
        return
    servers = objects.InstanceList.get_by_filters(
        context,
        {'uuid': sorted({migration.instance_uuid
                         for migration in reverted.values()}),
         'task_state': task_states.RESIZE_REVERTING, 'deleted': False},
        expected_attrs=list(ATTRIBUTES))
    for instance in servers:
        move = instance.migration_context
        migration = reverted.get(move.migration_id) if move else None
        if migration:
            yield instance, (side(instance, migration, holdings.OLD)
                             if source(migration) == here else None)
