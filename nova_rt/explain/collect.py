# SPDX-License-Identifier: Apache-2.0
"""Collects what a server asks for, and every host as scheduler and Placement know it."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from nova import context as nova_context
from nova import objects
from nova.scheduler import utils

from nova_rt import allocations
from nova_rt import kinds
from nova_rt import reservation
from nova_rt import shortfalls
from nova_rt.filters import host_view
from nova_rt.filters import server_kind
from nova_rt.instance import flavors
from nova_rt.instance import request_specs
from nova_rt.view import nodes


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


def request_for(flavor: objects.Flavor, hints: Mapping[str, object]) -> Request:
    """Return what a new server of this flavor, with these hints, would ask for.

    :raises InvalidReservationError: if its reservation is invalid
    """
    whole = flavors.with_hints(flavor, hints)
    return Request(flavors.reservation_of(whole),
                   utils.resources_from_flavor_and_bfv(whole, False), '',
                   kinds.chosen(flavor.extra_specs, {}))


def hosts(context: nova_context.RequestContext) -> Iterator[shortfalls.Host]:
    """Yield all compute nodes of all cells that answer, by name."""
    placement = allocations.PlacementClient(context)
    left = placement.left_by_host()
    for each in nodes.every(context):
        node = each.node
        yield shortfalls.Host(
            node.host, each.trouble, host_view.reported_by(node),
            left.get(node.uuid) or placement.left(node.uuid), host_view.kind_of(node),
            host_view.policy_of(node))
