# SPDX-License-Identifier: Apache-2.0
"""Servers that were about to arrive at a host when its service was killed.

Nova sees to builds only. An evacuation leaves a server on its destination that nothing but the
host's kernel knows of. That and an unshelve leave a server locked, and an allocation, which is
given back (:mod:`nova_rt.compute.foreign_shares`) as soon as the server is settled elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator

from nova import context as nova_context
from nova import objects
from nova.compute import manager as nova_manager
from nova.compute import task_states
from nova.compute import vm_states
from nova.objects import fields

from nova_rt.instance import holdings
from nova_rt.instance import residents

# So many evacuations to a host do not end at once: of those that their source has recorded as
# completed, no older ones are looked at.
_MOST = 20
# As Nova's migrations say it.
_CLAIMED, _COMPLETED, _DONE, _FAILED = 'pre-migrating', 'completed', 'done', 'failed'


def evacuations(context: nova_context.RequestContext, host: str,
                ) -> Iterator[tuple[objects.Instance, objects.Migration]]:
    """Yield servers with a reservation whose evacuation was claimed on a host and has not ended.

    Their source, if it is back, has recorded that it is completed.
    """
    filters = {'host': host, 'migration_type': fields.MigrationType.EVACUATION}
    for migration in [
            *objects.MigrationList.get_by_filters(context, {**filters, 'status': _CLAIMED}),
            *objects.MigrationList.get_by_filters(
                context, {**filters, 'status': _COMPLETED},
                sort_keys=['updated_at'], sort_dirs=['desc'], limit=_MOST)]:
        instance = residents.find(
            context.elevated(read_deleted='yes'), migration.instance_uuid)
        if instance is not None and migration.dest_compute == host and (
                instance.deleted or holdings.has_sides(instance)
                or holdings.holding_of(instance) is not None) and (
                migration.status == _CLAIMED or _is_moved_by(instance, migration)):
            yield instance, migration


def _is_moved_by(instance: objects.Instance, migration: objects.Migration) -> bool:
    move = instance.migration_context
    return move is not None and move.migration_id == migration.id


def end_evacuation(manager: nova_manager.ComputeManager, context: nova_context.RequestContext,
                   instance: objects.Instance, migration: objects.Migration) -> None:
    """End an evacuation to here as one that failed, or as one that is done, if it is.

    Repeated, it does what is left. The server is in ERROR, as Nova leaves one whose rebuild was
    interrupted: it can be evacuated again. Its disk is left where it is: it may be shared.
    """
    if not instance.deleted and instance.host == migration.dest_compute:
        instance.drop_migration_context()
        if migration.status == _CLAIMED:
            migration.status = _DONE
            migration.save()
        return
    manager.driver.destroy(context, instance, instance.get_network_info(),
                           destroy_disks=False)
    if not instance.deleted and (
            _is_moved_by(instance, migration)
            or (instance.task_state in task_states.rebuild_states
                and instance.host == migration.source_compute)):
        _leave_at_source(instance)
    migration.status = _FAILED
    migration.save()


def _leave_at_source(instance: objects.Instance) -> None:
    holdings.end_move(instance)
    instance.vm_state = vm_states.ERROR
    instance.task_state = None
    instance.save(expected_task_state=[None, *task_states.rebuild_states])
    instance.drop_migration_context()


def unshelves(context: nova_context.RequestContext,
              allocated: Iterable[str]) -> Iterator[objects.Instance]:
    """Yield servers whose unshelve was begun on a host and not claimed.

    :param allocated: the consumers of the host's share, by uuid
    """
    for uuid in allocated:
        instance = residents.find(context, uuid)
        if (instance is not None and instance.host is None
                and instance.vm_state == vm_states.SHELVED_OFFLOADED
                and instance.task_state == task_states.SPAWNING):
            yield instance


def end_unshelve(instance: objects.Instance) -> None:
    """Leave a server as it was: it can be unshelved again."""
    instance.task_state = None
    instance.save(expected_task_state=task_states.SPAWNING)
