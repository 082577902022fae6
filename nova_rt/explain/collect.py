# SPDX-License-Identifier: Apache-2.0
"""Collects what a server asks for, and every host as scheduler and Placement know it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import vm_states
from nova.pci import request as pci_request
from nova.scheduler import utils
from nova.virt import hardware
from oslo_utils import uuidutils

from nova_rt import allocations
from nova_rt import criticality
from nova_rt import kinds
from nova_rt import reservation
from nova_rt import shares
from nova_rt import shortfalls
from nova_rt.explain import nova_filters
from nova_rt.filters import host_view
from nova_rt.filters import server_kind
from nova_rt.instance import flavors
from nova_rt.instance import request_specs
from nova_rt.view import nodes

_TRAIT = 'trait:'


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A request, and what decides where it may go.

    :ivar flavor: the name of the flavor that it asks for
    :ivar times: those that its hints ask for
    :ivar asked: the criticality that it says, None if it says none
    """

    request: shortfalls.Request
    filters: nova_filters.Filters
    flavor: str
    times: reservation.Times
    asked: criticality.Criticality | None = None

    def hosts(self, context: nova_context.RequestContext) -> Iterator[shortfalls.Host]:
        """Yield all compute nodes of all cells that answer, by name."""
        yield from self._hosts(context, nodes.every(context))

    def everywhere(self, context: nova_context.RequestContext,
                   ) -> tuple[list[shortfalls.Host], list[str]]:
        """Return what :meth:`hosts` yields, and the names of the cells that do not answer."""
        found, silent = nodes.everywhere(context)
        return list(self._hosts(context, found)), silent

    def _hosts(self, context: nova_context.RequestContext,
               found: Iterable[nodes.Node]) -> Iterator[shortfalls.Host]:
        provider = _providers(context, self.request.needs)
        for each in found:
            node = each.node
            there = provider(node.uuid)
            yield shortfalls.Host(
                node.host, each.trouble, host_view.reported_by(node), there.left,
                host_view.kind_of(node), host_view.policy_of(node), there.traits,
                (*self.filters.refusals(node), *self._of_ours(node)),
                functools.partial(self.filters.most, node), there.units)

    def _of_ours(self, node: objects.ComputeNode) -> Iterator[tuple[str, str]]:
        refusal = (None if self.request.wanted is None
                   else host_view.refusal(node, self.asked))
        if refusal is not None:
            yield refusal[0], f'The host {refusal[1]}.'


def _providers(context: nova_context.RequestContext,
               needs: Mapping[str, int]) -> Callable[[str], allocations.Host]:
    """Return what returns a host as Placement knows it, by the uuid of its provider.

    All are asked for at once. Only those from which Placement gives no such amounts, though
    enough is left of each, are asked for again, with their units. The share's unit is no
    limit: see :func:`nova_rt.virt.inventory.offer`.
    """
    placement = allocations.PlacementClient(context)
    known = placement.hosts_with_vcpus()
    others = {name: amount for name, amount in needs.items()
              if amount and name != shares.RESOURCE_CLASS}
    giving = placement.that_may_give(others) if others else None

    def provider(uuid: str) -> allocations.Host:
        there = known.get(uuid)
        if there is None or (giving is not None and uuid not in giving and all(
                there.left.get(name, 0) >= amount for name, amount in others.items())):
            return placement.host(uuid)
        return there
    return provider


def of_server(context: nova_context.RequestContext, server: str) -> Question:
    """Return the question where a server may go.

    :param server: its uuid
    :raises InstanceMappingNotFound, RequestSpecNotFound, InstanceNotFound: if
        Nova does not know it
    :raises InvalidReservationError: if its reservation is invalid
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    spec = objects.RequestSpec.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is None:
        return of_request(context, spec)
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        instance = objects.Instance.get_by_uuid(cell, server, ['flavor'])
        request_specs.take_own_flavor(spec, instance)
        if instance.host is not None or instance.vm_state == vm_states.SHELVED_OFFLOADED:
            # The host that was named for its first start; Nova forgets it, too.
            spec.reset_forced_destinations()
        needs = utils.resources_from_flavor(instance, flavors.merged(spec.flavor, spec))
        kind = server_kind.of_instance(cell, instance)
        fault = '' if instance.fault is None else instance.fault.message
        # Those of one request all have a host, or none has.
        count = spec.num_instances if instance.host is None else 1
    return _of_spec(context, spec, needs, count, kind, fault)


def of_request(context: nova_context.RequestContext, spec: objects.RequestSpec) -> Question:
    """Return the question where new servers may go, of which no cell has one yet.

    :raises InvalidReservationError: if their reservation is invalid
    """
    boots_from_volume = bool('is_bfv' in spec and spec.is_bfv)
    return _of_spec(context, spec, utils.resources_from_flavor_and_bfv(
        flavors.merged(spec.flavor, spec), boots_from_volume), spec.num_instances)


def _of_spec(context: nova_context.RequestContext, spec: objects.RequestSpec,
             needs: Mapping[str, int], count: int, kind: kinds.Choice | None = None,
             fault: str = '') -> Question:
    wanted = request_specs.reservation_of(spec)
    filters = nova_filters.Filters(context, spec)
    return Question(
        shortfalls.Request(
            wanted, needs, fault, kind or request_specs.kind_of(spec),
            _traits(spec.flavor) | _traits_of_image(spec), count, filters.on_one_host),
        filters, spec.flavor.name,
        reservation.times_from_hints(spec.scheduler_hints or {}),
        request_specs.criticality_of(spec, wanted))


def of_flavor(context: nova_context.RequestContext, flavor: objects.Flavor,
              hints: Mapping[str, object]) -> Question:
    """Return the question where a new server of this flavor, with these hints, may go.

    It belongs to the project that asks.

    :raises InvalidReservationError: if its reservation is invalid
    """
    whole = flavors.with_hints(flavor, hints)
    # An image that asks for nothing.
    image = objects.ImageMeta.from_dict({'id': uuidutils.generate_uuid(), 'properties': {}})
    spec = objects.RequestSpec(
        instance_uuid=uuidutils.generate_uuid(), flavor=whole, project_id=context.project_id,
        image=image, scheduler_hints=_as_stored(hints))
    spec.obj_set_defaults()
    spec.numa_topology, spec.pci_requests = _devices(whole, image)
    filters = nova_filters.Filters(context, spec)
    return Question(
        shortfalls.Request(
            flavors.reservation_of(whole), utils.resources_from_flavor_and_bfv(whole, False),
            kind=kinds.chosen(flavor.extra_specs, {}), traits=_traits(flavor),
            on_one_host=filters.on_one_host),
        filters, flavor.name, reservation.times_from_hints(hints),
        flavors.criticality_of(whole))


def _as_stored(hints: Mapping[str, object]) -> dict[str, list[str]]:
    return {name: [*map(str, value)] if isinstance(value, (list, tuple)) else [str(value)]
            for name, value in hints.items()}


def _devices(flavor: objects.Flavor, image: objects.ImageMeta) -> tuple[
        objects.InstanceNUMATopology | None, objects.InstancePCIRequests | None]:
    """Return what flavor and image ask for of NUMA nodes and PCI devices."""
    try:
        return (hardware.numa_get_constraints(flavor, image),
                pci_request.get_pci_requests_from_flavor(flavor))
    except exception.NovaException:
        # nova-api refuses a server of such a flavor, with a sentence of its own.
        return None, None


def _traits(flavor: objects.Flavor) -> dict[str, str]:
    """Return what a flavor asks for of the traits of a host: ``trait:NAME``."""
    return {name.removeprefix(_TRAIT): asked for name, asked
            in flavor.extra_specs.items() if name.startswith(_TRAIT)}


def _traits_of_image(spec: objects.RequestSpec) -> dict[str, str]:
    image = spec.image if 'image' in spec else None
    if not image or 'traits_required' not in image.properties:
        return {}
    return dict.fromkeys(image.properties.traits_required, shortfalls.REQUIRED)
