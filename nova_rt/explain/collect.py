# SPDX-License-Identifier: Apache-2.0
"""Collects what a server asks for, and every host as scheduler and Placement know it."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

from nova import context as nova_context
from nova import objects
from nova.scheduler import utils

from nova_rt import allocations
from nova_rt import kinds
from nova_rt import shortfalls
from nova_rt.explain import zones
from nova_rt.filters import host_view
from nova_rt.filters import server_kind
from nova_rt.instance import flavors
from nova_rt.instance import request_specs
from nova_rt.view import nodes

_TRAIT = 'trait:'


def request_of(context: nova_context.RequestContext, server: str) -> shortfalls.Request:
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
    return shortfalls.Request(
        request_specs.reservation_of(spec), needs, fault, kind,
        _traits(spec.flavor) | _traits_of_image(spec), zones.Zones(context, spec).refusals)


def request_for(context: nova_context.RequestContext, flavor: objects.Flavor,
                hints: Mapping[str, object]) -> shortfalls.Request:
    """Return what a new server of this flavor, with these hints, would ask for.

    It belongs to the project that asks.

    :raises InvalidReservationError: if its reservation is invalid
    """
    whole = flavors.with_hints(flavor, hints)
    spec = objects.RequestSpec(flavor=whole, project_id=context.project_id, image=None)
    return shortfalls.Request(
        flavors.reservation_of(whole), utils.resources_from_flavor_and_bfv(whole, False),
        kind=kinds.chosen(flavor.extra_specs, {}), traits=_traits(flavor),
        refusals=zones.Zones(context, spec).refusals)


def hosts(context: nova_context.RequestContext) -> Iterator[shortfalls.Host]:
    """Yield all compute nodes of all cells that answer, by name."""
    placement = allocations.PlacementClient(context)
    known = placement.hosts_with_vcpus()
    for each in nodes.every(context):
        node = each.node
        there = known.get(node.uuid) or placement.host(node.uuid)
        yield shortfalls.Host(
            node.host, each.trouble, host_view.reported_by(node), there.left,
            host_view.kind_of(node), host_view.policy_of(node), there.traits)


def _traits(flavor: objects.Flavor) -> dict[str, str]:
    """Return what a flavor asks for of the traits of a host: ``trait:NAME``."""
    return {name.removeprefix(_TRAIT): asked for name, asked
            in flavor.extra_specs.items() if name.startswith(_TRAIT)}


def _traits_of_image(spec: objects.RequestSpec) -> dict[str, str]:
    image = spec.image if 'image' in spec else None
    if not image or 'traits_required' not in image.properties:
        return {}
    return dict.fromkeys(image.properties.traits_required, shortfalls.REQUIRED)
