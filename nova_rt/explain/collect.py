# SPDX-License-Identifier: Apache-2.0
"""Collects what a server asks for, and every host as scheduler and Placement know it."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

from nova import context as nova_context
from nova import objects
from nova import servicegroup
from nova.scheduler import utils

from nova_rt import allocations
from nova_rt import kinds
from nova_rt import reservation
from nova_rt import shortfalls
from nova_rt.filters import host_view
from nova_rt.filters import server_kind
from nova_rt.instance import flavors
from nova_rt.instance import request_specs


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What a server asks for.

    :ivar wanted: its reservation, None without one
    :ivar needs: by resource class, what it takes from Placement; empty for a
        server that no cell has yet
    :ivar kind: of server, and why; None if any kind will do
    :ivar fault: the newest one that Nova has recorded; empty without one
    """

    wanted: reservation.Reservation | None
    needs: dict[str, int]
    fault: str
    kind: kinds.Choice | None = None


def request_of(context: nova_context.RequestContext, server: str) -> Request:
    """Return what a server asks for.

    :param server: its uuid
    :raises InstanceMappingNotFound, RequestSpecNotFound, InstanceNotFound: if
        Nova does not know it
    :raises InvalidReservationError: if its reservation is invalid
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    spec = objects.RequestSpec.get_by_instance_uuid(context, server)
    fault = ''
    needs: dict[str, int] = {}
    kind = request_specs.kind_of(spec)
    if mapping.cell_mapping is not None:
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            instance = objects.Instance.get_by_uuid(cell, server, ['flavor'])
            needs = utils.resources_from_flavor(
                instance, flavors.merged(spec.flavor, spec))
            kind = server_kind.of_instance(cell, instance) or kind
            if instance.fault is not None:
                fault = instance.fault.message
    return Request(request_specs.reservation_of(spec), needs, fault, kind)


def hosts(context: nova_context.RequestContext) -> Iterator[shortfalls.Host]:
    """Yield all compute nodes of all cells, by name."""
    placement = allocations.PlacementClient(context)
    by_cell = nova_context.scatter_gather_skip_cell0(context, _nodes)
    nodes = [node for nodes in by_cell.values() if isinstance(nodes, list)
             for node in nodes]
    for node, trouble in sorted(nodes, key=lambda pair: pair[0].host):
        yield shortfalls.Host(node.host, trouble, host_view.reported_by(node),
                              placement.left(node.uuid), host_view.kind_of(node))


def _nodes(context: nova_context.RequestContext,
           ) -> list[tuple[objects.ComputeNode, str]]:
    services = {service.host: service for service in
                objects.ServiceList.get_by_binary(
                    context, 'nova-compute', include_disabled=True)}
    return [(node, _trouble(services.get(node.host)))
            for node in objects.ComputeNodeList.get_all(context)]


def _trouble(service: objects.Service | None) -> str:
    if service is None:
        return 'The host no longer has a compute service.'
    if service.disabled:
        reason = service.disabled_reason
        return ('The compute service is disabled'
                + (f' ({reason})' if reason else '') + '.')
    if not servicegroup.API().service_is_up(service):
        return 'The compute service is down.'
    return ''
