# SPDX-License-Identifier: Apache-2.0
"""The servers that concern a host: those on it, and those that move from or to it.

Read as nova-compute reads them when it derives its ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import task_states
from nova.compute import vm_states

from nova_rt import ledger
from nova_rt.instance import in_place
from nova_rt.instance import moves

# The states in which a migration that is not over says where a server is, as
# nova.compute.resource_tracker has them.
_MOVING = task_states.resizing_states + task_states.rebuild_states


@dataclasses.dataclass(frozen=True, slots=True)
class Resident:
    """A server that concerns a host.

    :ivar holdings: all that it holds there: its own, and a side of a move
    :ivar migration: by which it moves from or to the host, None if it does not
    :ivar returns: its move is being reverted, and its source has not taken it back
    """

    instance: objects.Instance
    holdings: tuple[ledger.Holding, ...]
    migration: objects.Migration | None = None
    returns: bool = False


def on(context: nova_context.RequestContext, here: moves.Place) -> list[Resident]:
    """Return the servers that concern a host.

    :param context: of the host's cell
    """
    instances = {
        instance.uuid: instance
        for instance in objects.InstanceList.get_by_host_and_node(
            context, *here, expected_attrs=list(moves.ATTRIBUTES))}
    residents = {uuid: Resident(instance, held(instance))
                 for uuid, instance in instances.items()}
    for resident in _moving(context, instances, here):
        residents[resident.instance.uuid] = resident
    for instance, holding in moves.coming_back(context, here):
        residents[instance.uuid] = Resident(
            instance, _present(holding), returns=True)
    return list(residents.values())


def held(instance: objects.Instance) -> tuple[ledger.Holding, ...]:
    """Return what a server that is on a host and not moved holds there."""
    return () if is_gone(instance) else _present(in_place.occupied_by(instance))


def held_by_moving(instance: objects.Instance, migration: objects.Migration,
                   here: moves.Place) -> tuple[ledger.Holding, ...]:
    """Return what a server that moves from or to a host holds there."""
    return _present(*moves.sides(instance, migration, here))


def is_gone(instance: objects.Instance) -> bool:
    """Return whether a server has left, though what removed it died before it said so."""
    return bool(vm_states.allow_resource_removal(
        vm_state=instance.vm_state, task_state=instance.task_state))


def is_moved_by(instance: objects.Instance,
                migration: objects.Migration) -> bool:
    """Return whether a migration that is not over says where a server is."""
    return moves.is_by(instance, migration) and (
        instance.vm_state == vm_states.RESIZED
        or (instance.vm_state in (vm_states.ACTIVE, vm_states.STOPPED)
            and instance.task_state in _MOVING)
        or (instance.vm_state in (vm_states.ACTIVE, vm_states.PAUSED)
            and instance.task_state == task_states.MIGRATING))


def find(context: nova_context.RequestContext,
         uuid: str) -> objects.Instance | None:
    """Return a server of a cell with all that says what it holds, None if there is none."""
    try:
        return objects.Instance.get_by_uuid(
            context, uuid, list(moves.ATTRIBUTES))
    except exception.InstanceNotFound:
        return None


def _moving(context: nova_context.RequestContext,
            instances: dict[str, objects.Instance],
            here: moves.Place) -> Iterator[Resident]:
    for migration in objects.MigrationList.get_in_progress_and_error(
            context, *here):
        instance = instances.get(migration.instance_uuid) or find(
            context, migration.instance_uuid)
        if instance and is_moved_by(instance, migration):
            yield Resident(
                instance, held_by_moving(instance, migration, here), migration)


def _present(*holdings: ledger.Holding | None) -> tuple[ledger.Holding, ...]:
    return tuple(holding for holding in holdings if holding is not None)
