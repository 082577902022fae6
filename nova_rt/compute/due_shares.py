# SPDX-License-Identifier: Apache-2.0
"""Shares that Placement is still to be told of.

Of a reservation that became smaller it is told last, for until then nobody else may have what
the server leaves. A mark that is saved with the smaller reservation says that this is still to
be done, whoever is killed before it is, and whether or not Placement answers.

A server that Placement has nothing for is marked when its host's service starts: one that was
to leave the host and has not, for whatever should have taken it was killed.
"""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.scheduler.client import report
from oslo_log import log as logging

from nova_rt import allocations
from nova_rt.instance import holdings
from nova_rt.instance import moves
from nova_rt.instance import residents

LOG = logging.getLogger(__name__)

_MARK = holdings.SHARE_DUE


def mark(instance: objects.Instance) -> None:
    """Write down that Placement has something else for a server, to be saved with it."""
    instance.system_metadata[_MARK] = 'yes'


def unmark(instance: objects.Instance) -> None:
    """Forget that Placement has something else for a server, to be saved with it."""
    instance.system_metadata.pop(_MARK, None)


def is_marked(instance: objects.Instance) -> bool:
    """Return whether Placement is to be told of a server."""
    return _MARK in instance.system_metadata


def unknown(context: nova_context.RequestContext, node: objects.ComputeNode,
            allocated: Container[str]) -> Iterator[objects.Instance]:
    """Yield the servers on a host that hold something of which Placement has nothing.

    :param allocated: the consumers of its share, by uuid
    """
    for instance in objects.InstanceList.get_by_host_and_node(
            context, node.host, node.hypervisor_hostname, expected_attrs=list(moves.ATTRIBUTES)):
        if instance.uuid not in allocated and residents.held(instance):
            yield instance


def tell(context: nova_context.RequestContext, client: report.SchedulerReportClient,
         provider: str, instances: Iterable[objects.Instance]) -> None:
    """Have Placement allocate to marked servers what they hold, and take the marks away.

    While another operation on a server is under way its mark stays; so it does if Placement
    does not answer, which is logged.

    :param provider: the uuid of the host's resource provider
    :param instances: all that are on the host
    """
    placement = allocations.PlacementClient(context.elevated(), client)
    for server in [instance.uuid for instance in instances if is_marked(instance)]:
        try:
            _tell(placement, provider, holdings.fetch(context, server))
        except (exception.InstanceNotFound, exception.UnexpectedTaskStateError):
            LOG.info('Placement is told of %s later: another operation has begun.', server)


def _tell(placement: allocations.PlacementClient, provider: str,
          instance: objects.Instance) -> None:
    if instance.task_state is not None:
        return
    holding = holdings.holding_of(instance)
    if (placement.try_to_allocate(instance, provider, holding.reservation.share) if holding
            else placement.try_to_set_share(instance.uuid, provider, 0)):
        unmark(instance)
        instance.save(expected_task_state=[None])
