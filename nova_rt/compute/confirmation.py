# SPDX-License-Identifier: Apache-2.0
"""Confirmations of resizes and migrations that were interrupted.

Nova records that a move is confirmed before it does the rest, and repeats none of it: neither
the server's state nor Placement's allocation for the source would ever change.
"""

from collections.abc import Iterator
import datetime

from nova import context as nova_context
from nova import objects
from nova.compute import manager as nova_manager
from nova.compute import power_state
from nova.compute import vm_states

from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import moves

# Between two saves of one confirmation passes much less.
_LONGEST = datetime.timedelta(hours=1)
# As Nova's migrations say it.
BEGUN = _ASKED_FOR, _RECORDED = 'confirming', 'confirmed'


def finish(manager: nova_manager.ComputeManager, context: nova_context.RequestContext,
           instance: objects.Instance, migration: objects.Migration) -> None:
    """Do what is left of a confirmation."""
    if migration.status == _ASKED_FOR:
        manager.confirm_resize(context, instance, migration)
        return
    manager._delete_allocation_after_move(context, instance, migration)
    instance.drop_migration_context()
    if instance.vm_state == vm_states.RESIZED:
        instance.vm_state = (
            vm_states.STOPPED if instance.power_state == power_state.SHUTDOWN
            else vm_states.ACTIVE)
    instance.task_state = None
    manager._delete_stashed_flavor_info(instance)


def interrupted(context: nova_context.RequestContext, service: objects.Service,
                ) -> Iterator[tuple[objects.Instance, objects.Migration]]:
    """Yield servers with a reservation that a host is the source of, and what moved them.

    :param service: of the host; only what was recorded since it was last seen is looked at
    """
    of_host = {'source_compute': service.host}
    seen = service.last_seen_up or service.created_at
    migrations = {
        migration.instance_uuid: migration
        for filters in ({**of_host, 'status': _RECORDED, 'changes-since': seen - _LONGEST},
                        {**of_host, 'status': _ASKED_FOR})
        for migration in objects.MigrationList.get_by_filters(context, filters)}
    if not migrations:
        return
    for instance in objects.InstanceList.get_by_filters(
            context, {'uuid': sorted(migrations), 'deleted': False},
            expected_attrs=list(moves.ATTRIBUTES)):
        migration = migrations[instance.uuid]
        if _is_left(instance, migration):
            yield instance, migration


def _is_left(instance: objects.Instance, migration: objects.Migration) -> bool:
    """Whether Nova has not forgotten both sides, which it does last, nor begun anything else."""
    move = instance.migration_context
    return (holdings.has_sides(instance) and instance.task_state is None
            and (move is None or move.migration_id == migration.id)
            and not in_place.begun(instance))
