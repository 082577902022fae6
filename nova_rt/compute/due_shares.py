# SPDX-License-Identifier: Apache-2.0
"""Shares that Placement still has for servers whose reservation became smaller.

Placement is told last, for until then nobody else may have what such a server leaves. A mark
that is saved with the smaller reservation says that this is still to be done, whoever is
killed before it is, and whether or not Placement answers.
"""

from __future__ import annotations

from collections.abc import Iterable

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler.client import report
from oslo_log import log as logging

from nova_rt import allocations
from nova_rt.instance import holdings

LOG = logging.getLogger(__name__)

_MARK = holdings.SHARE_DUE


def mark(instance: objects.Instance) -> None:
    """Write down that Placement has more for a server, to be saved with it."""
    instance.system_metadata[_MARK] = 'yes'


def tell(context: nova_context.RequestContext, client: report.SchedulerReportClient,
         provider: str, instances: Iterable[objects.Instance]) -> None:
    """Have Placement allocate to marked servers what they hold, and take the marks away.

    While another operation on a server is under way its mark stays; so it does if Placement
    does not answer, which is logged.

    :param provider: the uuid of the host's resource provider
    :param instances: all that are on the host
    """
    placement = allocations.PlacementClient(context.elevated(), client)
    for server in [instance.uuid for instance in instances if _MARK in instance.system_metadata]:
        try:
            _tell(placement, provider, holdings.fetch(context, server))
        except (exception.InstanceNotFound, exception.UnexpectedTaskStateError):
            LOG.info('Placement is told of %s later: another operation has begun.', server)


def _tell(placement: allocations.PlacementClient, provider: str,
          instance: objects.Instance) -> None:
    holding = holdings.holding_of(instance)
    if instance.task_state is not None or holding is None:
        return
    if placement.try_to_set_share(instance.uuid, provider, holding.reservation.share):
        instance.system_metadata.pop(_MARK, None)
        instance.save(expected_task_state=[None])
