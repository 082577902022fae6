# SPDX-License-Identifier: Apache-2.0
"""Servers with their reservations, and how much each project has."""

from __future__ import annotations

import collections
from collections.abc import Iterator
import contextlib
import dataclasses

from nova import context as nova_context
from nova import objects

from nova_rt import criticality
from nova_rt import kinds
from nova_rt import reservation
from nova_rt.filters import server_kind
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import moves
from nova_rt.instance import preempted
from nova_rt.instance import request_specs
from nova_rt.view import holders

# How many servers are read at once where all are wanted.
_BATCH = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server.

    :ivar wanted: what it holds, or what it asks for if it holds nothing; None
        without a reservation
    :ivar pcpus: those that it holds, ascending; none if it holds nothing
    :ivar host: where it is; None if it is on no host
    :ivar kind: None if that is not certain
    :ivar criticality: that it says, None if it says none
    :ivar owed_us: the runtime that it had before it was shrunk for a more critical server, and
        that it has again when there is room; None if it is not shrunk
    """

    uuid: str
    name: str
    project: str
    status: str
    host: str | None
    wanted: reservation.Reservation | None
    pcpus: tuple[int, ...]
    kind: kinds.Kind | None
    criticality: criticality.Criticality | None
    owed_us: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Project:
    """What the servers of a project hold together.

    :ivar share: in fixed point
    """

    uuid: str
    servers: int
    vcpus: int
    share: int


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """Some of the servers.

    :ivar more: whether there are more
    :ivar unreachable: the cells whose database did not answer, by name
    """

    servers: list[Server]
    more: bool
    unreachable: list[str]


def page(context: nova_context.RequestContext, scope: holders.Scope, limit: int,
         marker: str | None = None) -> Page:
    """Return servers that hold a reservation, by uuid.

    Every cell is asked at once for no more than is returned.

    :param context: of an administrator
    :param limit: how many at most
    :param marker: the uuid after which to begin
    """
    cells = [cell for cell in objects.CellMappingList.get_all(context)
             if not cell.is_cell0()]
    found = nova_context.scatter_gather_cells(
        context, cells, nova_context.CELL_TIMEOUT, _of_cell, scope, limit + 1, marker)
    servers = sorted((server for of_cell in found.values() if isinstance(of_cell, list)
                      for server in of_cell), key=lambda server: server.uuid)
    return Page(servers[:limit], len(servers) > limit, sorted(
        cell.name or cell.uuid for cell in cells
        if not isinstance(found[cell.uuid], list)))


def by_project(context: nova_context.RequestContext,
               scope: holders.Scope) -> tuple[list[Project], list[str]]:
    """Return what projects hold, the largest share first.

    :param context: of an administrator
    :returns: the projects, and the cells whose database did not answer
    """
    held: dict[str, list[reservation.Reservation]] = collections.defaultdict(list)
    unreachable: set[str] = set()
    for servers in _pages(context, scope):
        unreachable.update(servers.unreachable)
        for server in servers.servers:
            if server.wanted is not None:
                held[server.project].append(server.wanted)
    projects = [Project(uuid, len(wanted), sum(each.vcpus for each in wanted),
                        sum(each.share for each in wanted))
                for uuid, wanted in held.items()]
    return (sorted(projects, key=lambda project: (-project.share, project.uuid)),
            sorted(unreachable))


def one(context: nova_context.RequestContext, uuid: str) -> Server:
    """Return a server, whether or not it has a reservation.

    :param context: of an administrator
    :raises InstanceMappingNotFound, InstanceNotFound, RequestSpecNotFound: if
        Nova does not know it
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, uuid)
    spec = objects.RequestSpec.get_by_instance_uuid(context, uuid)
    if mapping.cell_mapping is None:
        wanted, kind, asked = _asked_by(spec)
        return Server(uuid, '', mapping.project_id, 'building', None, wanted, (),
                      kind.kind if kind else None, asked)
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        instance = objects.Instance.get_by_uuid(cell, uuid, list(moves.ATTRIBUTES))
        request_specs.take_own_flavor(spec, instance)
        wanted, kind, _ = _asked_by(spec)
        kind = server_kind.of_instance(cell, instance) or kind
    return _server(instance, kind.kind if kind else None, wanted)


def _asked_by(spec: objects.RequestSpec) -> tuple[
        reservation.Reservation | None, kinds.Choice | None, criticality.Criticality | None]:
    """Return what a request asks for, as far as it is valid."""
    wanted, kind, asked = None, None, None
    with contextlib.suppress(reservation.InvalidReservationError):
        kind = request_specs.kind_of(spec)
        wanted = request_specs.reservation_of(spec)
        asked = request_specs.criticality_of(spec, wanted)
    return wanted, kind, asked


def _pages(context: nova_context.RequestContext,
           scope: holders.Scope) -> Iterator[Page]:
    marker, more = None, True
    while more:
        servers = page(context, scope, _BATCH, marker)
        yield servers
        more = servers.more
        marker = servers.servers[-1].uuid if servers.servers else None


def _of_cell(context: nova_context.RequestContext, scope: holders.Scope, limit: int,
             marker: str | None) -> list[Server]:
    return [_server(holder.instance, holder.kind)
            for holder in holders.of_cell(context, scope, limit, marker)]


def _server(instance: objects.Instance, kind: kinds.Kind | None,
            wanted: reservation.Reservation | None = None) -> Server:
    holding = holdings.holding_of(instance)
    asked = None
    with contextlib.suppress(reservation.InvalidReservationError):
        asked = flavors.criticality_of(instance.flavor)
    mark = preempted.mark_of(instance)
    return Server(
        instance.uuid, instance.display_name or '', instance.project_id,
        instance.vm_state, instance.host, holding.reservation if holding else wanted,
        holding.pcpus if holding else (), kind, asked,
        mark.owed_us if mark and not mark.returned else None)
