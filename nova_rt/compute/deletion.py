# SPDX-License-Identifier: Apache-2.0
"""What a server that is deleted still has allocated besides its own share."""

from __future__ import annotations

from nova import context as nova_context
from nova import objects
from nova.scheduler.client import report

# Live migrations, of which there may be many: they give back before they say so.
_GAVE_BACK = 'completed'


def give_back_moves(reportclient: report.SchedulerReportClient,
                    context: nova_context.RequestContext,
                    instance: objects.Instance) -> None:
    """Give back what moves hold of a server that is deleted.

    A message or a service may have been lost in the middle: after the claim of a live
    migration, or while a resize was confirmed or reverted, which is recorded before. Nova never
    ends such a move, and leaves its allocation when the server goes, whether it holds anything
    by then or not.
    """
    for migration in objects.MigrationList.get_by_filters(
            context, {'instance_uuid': instance.uuid}):
        if migration.status != _GAVE_BACK:
            reportclient.delete_allocation_for_instance(
                context, migration.uuid, consumer_type='migration', force=True)
