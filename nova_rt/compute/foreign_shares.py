# SPDX-License-Identifier: Apache-2.0
"""Shares that Placement has allocated of a host to servers that are settled elsewhere.

The scheduler allocates before it asks the host. If the host's service is killed, Nova does not
give back what an evacuation or an unshelve was to have there. Nor does it give back what a move
holds of its source, if that is never over.
"""

from __future__ import annotations

from collections.abc import Collection

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import vm_states
from nova.scheduler.client import report

from nova_rt import allocations
from nova_rt.compute import interrupted_moves
from nova_rt.instance import residents


def give_back(context: nova_context.RequestContext, client: report.SchedulerReportClient,
              node: objects.ComputeNode, here: Collection[str]) -> None:
    """Give back all that is allocated with a share to servers that are elsewhere, or offloaded.

    :param here: the servers on the host, by uuid
    """
    placement = allocations.PlacementClient(context.elevated(), client)
    for uuid in (placement.try_shares_on(node.uuid) or {}).keys() - set(here):
        instance = residents.find(context, uuid) or _left_by(context, uuid)
        if instance is not None and instance.task_state is None and (
                instance.host not in (None, node.host)
                or (instance.host is None
                    and instance.vm_state == vm_states.SHELVED_OFFLOADED)):
            placement.try_to_give_back(uuid, node.uuid)


def _left_by(context: nova_context.RequestContext, uuid: str) -> objects.Instance | None:
    """Return the server of a resize or cold migration that was interrupted, None if it was not.

    A confirmation gives back by itself, in the end, as a live migration does.
    """
    try:
        migration = objects.Migration.get_by_uuid(context, uuid)
    except exception.MigrationNotFound:
        return None
    if migration.is_live_migration or migration.status in interrupted_moves.CONFIRMATION:
        return None
    instance = residents.find(context, migration.instance_uuid)
    return None if instance and residents.is_moved_by(instance, migration) else instance
