# SPDX-License-Identifier: Apache-2.0
"""Changes what Placement has promised to one server, and only our part."""

from __future__ import annotations

from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception
from nova.scheduler.client import report
from oslo_log import log as logging

from nova_rt import shares

LOG = logging.getLogger(__name__)


def change(context: nova_context.RequestContext,
           client: report.SchedulerReportClient, consumer: str,
           provider: str, share: int) -> bool:
    """Have Placement promise a share of a host to a server or a move.

    :param consumer: uuid of a server or of a migration
    :param share: 0 for none
    :returns: whether Placement did; not if it has no allocation of the
        consumer, or no room
    :raises ConsumerAllocationRetrievalFailed, AllocationUpdateFailed: if
        Placement refuses to tell, or somebody else changed it meanwhile
    """
    payload = client.get_allocs_for_consumer(context, consumer)
    allocations = payload['allocations']
    if not allocations:
        return not share
    for each in allocations.values():
        each.pop('generation', None)
    here = allocations.setdefault(provider, {'resources': {}})['resources']
    if share:
        here[shares.RESOURCE_CLASS] = share
    else:
        here.pop(shares.RESOURCE_CLASS, None)
    if not here:
        del allocations[provider]
    return bool(client.put_allocations(context, consumer, payload))


def try_to_change(context: nova_context.RequestContext,
                  client: report.SchedulerReportClient, consumer: str,
                  provider: str, share: int) -> None:
    """Change a promise, or log that an audit will have to."""
    try:
        changed = change(context, client, consumer, provider, share)
    except (exception.NovaException, report.Retry,
            ks_exc.ClientException) as why:
        LOG.warning('The promise to %s could not be corrected: %s', consumer,
                    why)
        return
    if not changed:
        LOG.warning('Placement did not correct the promise to %s; see '
                    'nova-rt-manage audit.', consumer)
