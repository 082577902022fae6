# SPDX-License-Identifier: Apache-2.0
"""Every host as scheduler and Placement know it, and what a server asks."""

from __future__ import annotations

from collections.abc import Iterator

from nova import context as nova_context
from nova import objects
from nova import servicegroup
from nova.scheduler import utils
from nova.scheduler.client import report

from nova_rt import allocations
from nova_rt import reservation
from nova_rt import shortfalls
from nova_rt.filters import host_view
from nova_rt.instance import flavors
from nova_rt.instance import request_specs


def asked(context: nova_context.RequestContext, server: str,
          ) -> tuple[reservation.Reservation | None, dict[str, int], str]:
    """Return a server's reservation, what it takes from Placement, its fault.

    :param server: its uuid
    :raises InstanceMappingNotFound, RequestSpecNotFound, InstanceNotFound: if
        Nova does not know it
    :raises InvalidReservationError: if it asks for what cannot be
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    spec = objects.RequestSpec.get_by_instance_uuid(context, server)
    fault = ''
    needs: dict[str, int] = {}
    if mapping.cell_mapping is not None:
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            instance = objects.Instance.get_by_uuid(cell, server, ['flavor'])
            needs = utils.resources_from_flavor(
                instance, flavors.merged(spec.flavor, spec))
            if instance.fault is not None:
                fault = instance.fault.message
    return request_specs.reservation_of(spec), needs, fault


def hosts(context: nova_context.RequestContext) -> Iterator[shortfalls.Host]:
    """Yield all compute nodes of all cells, by name."""
    client = report.report_client_singleton()
    found = nova_context.scatter_gather_skip_cell0(context, _cell)
    nodes = [each for cell in found.values() if isinstance(cell, list)
             for each in cell]
    for node, trouble in sorted(nodes, key=lambda each: each[0].host):
        yield shortfalls.Host(node.host, trouble, host_view.reported_by(node),
                       allocations.left(client, context, node.uuid))


def _cell(context: nova_context.RequestContext,
          ) -> list[tuple[objects.ComputeNode, str]]:
    services = {service.host: service for service in
                objects.ServiceList.get_by_binary(
                    context, 'nova-compute', include_disabled=True)}
    return [(node, _trouble(services.get(node.host)))
            for node in objects.ComputeNodeList.get_all(context)]


def _trouble(service: objects.Service | None) -> str:
    if service is None:
        return 'The host has no compute service any more.'
    if service.disabled:
        because = service.disabled_reason
        return ('The compute service is disabled'
                + (f' ({because})' if because else '') + '.')
    if not servicegroup.API().service_is_up(service):
        return 'The compute service is down.'
    return ''
