# SPDX-License-Identifier: Apache-2.0
"""What a server that is deleted still has allocated besides its own share."""

from __future__ import annotations

from nova import context as nova_context
from nova import objects
from nova.scheduler.client import report

# Of live migrations there may be many.
_OVER = 'completed'


def give_back_moves(reportclient: report.SchedulerReportClient,
                    context: nova_context.RequestContext,
                    instance: objects.Instance) -> None:
    """Give back what moves hold of a server that is deleted.

    A message or a service may have been lost in the middle: after the claim of a live
    migration, or while one ended, which is recorded before. Nova never ends such a move, and
    leaves its allocation when the server goes, whether it holds anything by then or not.
    """
    migrations = list(objects.MigrationList.get_by_filters(
        context, {'instance_uuid': instance.uuid}))
    last = max((migration.id for migration in migrations), default=None)
    for migration in migrations:
        if migration.status != _OVER or migration.id == last:
            reportclient.delete_allocation_for_instance(
                context, migration.uuid, consumer_type='migration', force=True)
