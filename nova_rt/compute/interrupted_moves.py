# SPDX-License-Identifier: Apache-2.0
"""Moves of servers that have left, or are about to, whose source was interrupted.

Nova records that a move is confirmed, or completed, before it does the rest, and repeats none
of it: a server would stay resized, and what Placement has allocated for the source would stay
allocated. So it would for moves of servers that were evacuated before they had left, or that stay
as Nova has unlocked them.
"""

from collections.abc import Iterator

from nova import context as nova_context
from nova import objects
from nova.compute import manager as nova_manager
from nova.compute import power_state
from nova.compute import vm_states
from nova.objects import fields

from nova_rt.compute import departures
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import moves

# So many moves of a host do not end at once: of those that are recorded as done, no older
# ones are looked at.
_MOST = 20
# As Nova's migrations say it: of a resize or a cold migration, and of a live migration.
CONFIRMATION = _CONFIRMING, _CONFIRMED = 'confirming', 'confirmed'
_RUNNING, _COMPLETED = 'running', 'completed'
_UNDER_WAY = ('accepted', 'queued', 'preparing', _RUNNING, 'pre-migrating', 'migrating',
              'post-migrating', 'finished')
_NOT_LEFT = ('pre-migrating', 'migrating', 'post-migrating')
_FAILED = 'error'


def finish(manager: nova_manager.ComputeManager, context: nova_context.RequestContext,
           instance: objects.Instance, migration: objects.Migration) -> None:
    """Do what is left of a move."""
    if migration.status == _CONFIRMING:
        manager.confirm_resize(context, instance, migration)
        return
    manager._delete_allocation_after_move(context, instance, migration)
    if migration.is_live_migration:
        migration.status = _COMPLETED
        migration.save()
    else:
        _finish_confirmation(manager, instance)


def _finish_confirmation(manager: nova_manager.ComputeManager,
                         instance: objects.Instance) -> None:
    instance.drop_migration_context()
    if instance.vm_state == vm_states.RESIZED:
        instance.vm_state = (
            vm_states.STOPPED if instance.power_state == power_state.SHUTDOWN
            else vm_states.ACTIVE)
    instance.task_state = None
    manager._delete_stashed_flavor_info(instance)


def of_source(context: nova_context.RequestContext, host: str,
              ) -> Iterator[tuple[objects.Instance, objects.Migration]]:
    """Yield servers with a reservation that a host was the source of, and what moves them."""
    migrations = [
        *objects.MigrationList.get_by_filters(
            context, {'source_compute': host, 'status': [_CONFIRMED, _COMPLETED]},
            sort_keys=['updated_at'], sort_dirs=['desc'], limit=_MOST),
        *objects.MigrationList.get_by_filters(
            context, {'source_compute': host, 'status': [_CONFIRMING, _RUNNING]})]
    for instance, migration in _resting(context, migrations):
        if (_has_arrived(instance, migration) if migration.is_live_migration
                else _is_unconfirmed(instance, migration)):
            yield instance, migration


def left_behind(context: nova_context.RequestContext, host: str,
                ) -> Iterator[tuple[objects.Instance, objects.Migration]]:
    """Yield servers that are elsewhere, and what was to move them from a host and does no more.

    The host died meanwhile, and they were evacuated.
    """
    migrations = [*objects.MigrationList.get_by_filters(
        context, {'source_compute': host, 'status': list(_UNDER_WAY)})]
    for instance, migration in _resting(context, migrations):
        if (instance.host not in (None, host)
                and migration.migration_type != fields.MigrationType.EVACUATION
                and not _is_moved_by(instance, migration)):
            yield instance, migration


def never_left(context: nova_context.RequestContext, host: str,
               ) -> Iterator[tuple[objects.Instance, objects.Migration]]:
    """Yield servers that are still on a host, and what was to move them from it and does no more.

    As long as it has both sides, nothing has changed such a server since.
    """
    migrations = [*objects.MigrationList.get_by_filters(
        context, {'source_compute': host, 'status': list(_NOT_LEFT)})]
    for instance, migration in _resting(context, migrations):
        if (instance.host == host and holdings.has_sides(instance)
                and not in_place.begun(instance) and _is_moved_by(instance, migration)):
            yield instance, migration


def _resting(context: nova_context.RequestContext, migrations: list[objects.Migration],
             ) -> Iterator[tuple[objects.Instance, objects.Migration]]:
    """Yield the migrations of servers that exist and are not busy, each with its server."""
    if not migrations:
        return
    instances = {instance.uuid: instance for instance in objects.InstanceList.get_by_filters(
        context, {'uuid': sorted({migration.instance_uuid for migration in migrations}),
                  'deleted': False}, expected_attrs=list(moves.ATTRIBUTES))}
    for migration in migrations:
        instance = instances.get(migration.instance_uuid)
        if instance is not None and instance.task_state is None:
            yield instance, migration


def give_up(manager: nova_manager.ComputeManager, context: nova_context.RequestContext,
            instance: objects.Instance, migration: objects.Migration) -> None:
    """Give back what a move has allocated of its source, and record that it failed."""
    manager._delete_allocation_after_move(context, instance, migration)
    migration.status = _FAILED
    migration.save()


def stay(manager: nova_manager.ComputeManager, context: nova_context.RequestContext,
         instance: objects.Instance, migration: objects.Migration) -> None:
    """Have a server hold where it is what it held before, and record that the move failed."""
    manager._revert_allocation(context, instance, migration)
    departures.stay(context, instance.uuid, migration.source_compute)
    migration.status = _FAILED
    migration.save()


def _is_moved_by(instance: objects.Instance, migration: objects.Migration) -> bool:
    move = instance.migration_context
    return move is not None and move.migration_id == migration.id


def _has_arrived(instance: objects.Instance, migration: objects.Migration) -> bool:
    """Whether a live migration's destination has the server, as far as it is concerned."""
    return (instance.host == migration.dest_compute
            and holdings.holding_of(instance) is not None)


def _is_unconfirmed(instance: objects.Instance, migration: objects.Migration) -> bool:
    """Whether Nova has not forgotten both sides, which it does last, nor begun another move.

    Of an evacuation, which is completed as a live migration is, nothing is ever confirmed.
    """
    move = instance.migration_context
    return (migration.status in CONFIRMATION
            and holdings.has_sides(instance) and not in_place.begun(instance)
            and (move is None or move.migration_id == migration.id))
