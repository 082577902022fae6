# SPDX-License-Identifier: Apache-2.0
"""The compute nodes of all cells, and why Nova does not use one."""

from __future__ import annotations

import dataclasses

from nova import context as nova_context
from nova import exception
from nova import objects
from nova import servicegroup
from nova.db.main import api as main_db
from nova.db.main import models
from oslo_serialization import jsonutils
import sqlalchemy as sa


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A compute node.

    :ivar trouble: why Nova places no server on it, a sentence; empty if it does
    """

    node: objects.ComputeNode
    trouble: str


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """Some of the compute nodes.

    :ivar nodes: with no more than what lists show; nothing else may be read of them
    :ivar more: whether there are more
    :ivar unreachable: the cells whose database did not answer, by name
    """

    nodes: list[Node]
    more: bool
    unreachable: list[str]


class UnknownMarkerError(LookupError):
    """No cell that answers has a compute node of this uuid."""


def every(context: nova_context.RequestContext) -> list[Node]:
    """Return the compute nodes of all cells that answer, by name."""
    return everywhere(context)[0]


def everywhere(context: nova_context.RequestContext) -> tuple[list[Node], list[str]]:
    """Return the compute nodes of all cells that answer, by name, and the names of the others."""
    cells = [cell for cell in objects.CellMappingList.get_all(context) if not cell.is_cell0()]
    found = nova_context.scatter_gather_cells(
        context, cells, nova_context.CELL_TIMEOUT, of_cell)
    answers = {cell.name or cell.uuid: found[cell.uuid] for cell in cells}
    return sorted((node for nodes in answers.values() if isinstance(nodes, list)
                   for node in nodes), key=lambda each: each.node.host), sorted(
        name for name, nodes in answers.items() if not isinstance(nodes, list))


def page(context: nova_context.RequestContext, limit: int,
         marker: str | None = None) -> Page:
    """Return compute nodes, cell by cell in the order in which they came to exist.

    This reads one node more than is returned, which saves clients the request for an
    empty last page, in one query for a cell's nodes and one for its services.

    :param limit: how many at most
    :param marker: the uuid of the node after which to begin
    :raises UnknownMarkerError: if no cell has it
    """
    nodes: list[Node] = []
    unreachable = []
    for cell in objects.CellMappingList.get_all(context):
        if cell.is_cell0() or len(nodes) > limit:
            continue
        found = nova_context.scatter_gather_cells(
            context, [cell], nova_context.CELL_TIMEOUT, _after,
            limit + 1 - len(nodes), marker)[cell.uuid]
        if isinstance(found, list):
            nodes += found
            marker = None
        elif found is not None:
            unreachable.append(cell.name or cell.uuid)
    if marker is not None:
        raise UnknownMarkerError(marker)
    return Page(nodes[:limit], len(nodes) > limit, unreachable)


def named(context: nova_context.RequestContext,
          host: str) -> tuple[objects.CellMapping, Node]:
    """Return a host's cell and its compute node.

    :raises HostMappingNotFound, ComputeHostNotFound: if there is none
    """
    cell = objects.HostMapping.get_by_host(context, host).cell_mapping
    with nova_context.target_cell(context, cell) as there:
        node, *_ = objects.ComputeNodeList.get_all_by_host(there, host)
        return cell, Node(node, _trouble(_services(there).get(host)))


def of_cell(context: nova_context.RequestContext) -> list[Node]:
    """Return the compute nodes of one cell.

    :param context: of the cell
    """
    services = _services(context)
    return [Node(node, _trouble(services.get(node.host)))
            for node in objects.ComputeNodeList.get_all(context)]


def _after(context: nova_context.RequestContext, limit: int,
           marker: str | None) -> list[Node] | None:
    """Return the nodes of a cell after one of its own, None if that is another cell's."""
    after = None
    if marker is not None:
        try:
            after = objects.ComputeNode.get_by_uuid(context, marker).id
        except exception.ComputeHostNotFound:
            return None
    services = _services(context)
    return [Node(node, _trouble(services.get(node.host)))
            for node in _rows_after(context, limit, after)]


# Nova's objects read all forty columns, and copy them, which takes four times as long.
@main_db.pick_context_manager_reader
def _rows_after(context: nova_context.RequestContext, limit: int,
                after: int | None) -> list[objects.ComputeNode]:
    node = models.ComputeNode
    statement = sa.select(node.uuid, node.host, node.hypervisor_type, node.stats).where(
        node.deleted == 0, *([node.id > after] if after is not None else []),
    ).order_by(node.id).limit(limit)
    return [objects.ComputeNode(
                uuid=row.uuid, host=row.host, hypervisor_type=row.hypervisor_type,
                stats=jsonutils.loads(row.stats) if row.stats else {})
            for row in context.session.execute(statement)]


def _services(context: nova_context.RequestContext) -> dict[str, objects.Service]:
    return {service.host: service for service in
            objects.ServiceList.get_by_binary(
                context, 'nova-compute', include_disabled=True)}


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
