# SPDX-License-Identifier: Apache-2.0
"""The sides of a live migration, on an instance that the source has had since before.

The destination has claimed for it, and saved that, meanwhile.
"""

from __future__ import annotations

from typing import Any
from typing import Protocol

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import task_states
from oslo_log import log as logging
import oslo_messaging

from nova_rt.instance import holdings
from nova_rt.instance import moves
from nova_rt.virt import live_migration as virt_live_migration

LOG = logging.getLogger(__name__)

# The status of a migration until its source begins with it.
_CHOOSING = 'accepted'


class Compute(Protocol):
    """What of the compute manager ends a live migration."""

    driver: Any
    compute_rpcapi: Any

    def _revert_allocation(self, context: nova_context.RequestContext,
                           instance: objects.Instance,
                           migration: objects.Migration) -> Any: ...

    def _post_live_migration_update_host(
            self, ctxt: nova_context.RequestContext, instance: objects.Instance, dest: str,
            *args: Any, **kwargs: Any) -> None: ...


def check_awaited(context: nova_context.RequestContext, migration: objects.Migration) -> None:
    """See that a destination that is about to claim is still being waited for.

    The conductor gives up one that does not answer in time, and asks another. A late
    claim would replace what the server holds by then.

    :raises ComputeResourcesUnavailable: if the migration has begun, or is over
    """
    status = objects.Migration.get_by_id(context, migration.id).status
    if status != _CHOOSING:
        raise exception.ComputeResourcesUnavailable(
            reason=f'this host answered too late: the live migration is {status}')


def check_claim(context: nova_context.RequestContext, instance: objects.Instance,
                data: Any, host: str) -> None:
    """See that the last claim for a server is the one of its destination.

    :param data: Nova's LibvirtLiveMigrateData
    :param host: the destination
    :raises MigrationPreCheckError: if another host, asked before, has claimed since
    """
    if holdings.holding_of(instance) is None:
        return
    saved = objects.Instance.get_by_uuid(
        context, instance.uuid, expected_attrs=list(moves.ATTRIBUTES))
    claim = holdings.holding_of(saved, prefix=holdings.NEW)
    move = saved.migration_context
    if (claim is None or claim.pcpus != virt_live_migration.claimed(data)
            or move is None
            or objects.Migration.get_by_id(context, move.migration_id).dest_compute != host):
        raise exception.MigrationPreCheckError(
            reason='another host has claimed for the server since: try again.')


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


def interrupted(context: nova_context.RequestContext,
                instance: objects.Instance) -> objects.Migration | None:
    """Return the live migration that its source has not seen the end of."""
    if holdings.holding_of(instance) is None:
        return None
    return next((
        migration for migration in objects.MigrationList.get_in_progress_by_instance(
            context, instance.uuid, 'live-migration')
        if migration.source_compute == instance.host), None)


def end_interrupted(compute: Compute, context: nova_context.RequestContext,
                    instance: objects.Instance, migration: objects.Migration) -> None:
    """End a live migration whose source was killed; the server is where its domain is.

    libvirt has gone on without the service. Nova takes the server for one that has stayed,
    and leaves its claim and its allocations.
    """
    if compute.driver.is_here(instance):
        _take_back(compute, context, instance, migration)
        return
    instance.task_state = task_states.MIGRATING
    instance.save()
    # Disks are left where they are: they may be shared.
    data = objects.LibvirtLiveMigrateData(
        migration=migration, is_shared_instance_path=True, is_shared_block_storage=True)
    compute._post_live_migration_update_host(
        context, instance, migration.dest_compute, migrate_data=data,
        source_bdms=objects.BlockDeviceMappingList.get_by_instance_uuid(
            context, instance.uuid))


def _take_back(compute: Compute, context: nova_context.RequestContext,
               instance: objects.Instance, migration: objects.Migration) -> None:
    """Have the server hold what it has here, and nothing at its destination."""
    compute._revert_allocation(context, instance, migration)
    try:
        compute.compute_rpcapi.drop_move_claim_at_destination(
            context, instance, migration.dest_compute)
    except oslo_messaging.MessagingException:
        LOG.info('%s does not answer; it gives the claim back by itself.',
                 migration.dest_compute, instance=instance)
    has_stayed(context, instance)
    instance.drop_migration_context()
    instance.save()
    # Nova ends only one that has begun to run.
    migration.status = 'error'
    migration.save()


def _read_sides(context: nova_context.RequestContext, instance: objects.Instance) -> bool:
    if holdings.holding_of(instance) is None:
        return False
    instance.system_metadata = objects.Instance.get_by_uuid(
        context, instance.uuid, expected_attrs=['system_metadata']).system_metadata
    return True
