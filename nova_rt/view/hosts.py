# SPDX-License-Identifier: Apache-2.0
"""Hosts with what they report of their bandwidth, and who holds it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses

from nova import context as nova_context
from nova import objects

from nova_rt import closing
from nova_rt import criticality
from nova_rt import errors
from nova_rt import kinds
from nova_rt import ledger
from nova_rt import moving
from nova_rt import shares
from nova_rt.filters import host_view
from nova_rt.instance import residents
from nova_rt.instance import vcpu_move
from nova_rt.view import nodes


class UnreachableError(errors.NovaRTError):
    """The databases of some cells did not answer; the message is a sentence."""


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host as it last reported itself.

    :ivar uuid: of its compute node
    :ivar trouble: why Nova places no server on it, a sentence; empty if it does
    :ivar dialect: how its kernel takes reservations; ``none`` if it takes none
    :ivar policy: its placement policy, None if it says none
    :ivar reported: its bandwidth, None if it offers none
    :ivar moves: when it moves vCPUs between its pCPUs
    :ivar criticalities: of the servers that it takes
    """

    uuid: str
    name: str
    trouble: str
    kind: kinds.Kind | None
    dialect: str
    policy: str | None
    reported: shares.HostShares | None
    moves: moving.Moving
    criticalities: frozenset[criticality.Criticality]


@dataclasses.dataclass(frozen=True, slots=True)
class Inhabited:
    """A host, and the servers that concern it.

    :ivar cell: the uuid of its cell
    """

    host: Host
    residents: list[residents.Resident]
    cell: str


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """What a server holds on a host; a server that moves within it has two.

    :ivar movable: whether its vCPUs may be moved to other pCPUs of the host now
    """

    server: str
    name: str
    project: str
    holding: ledger.Holding
    movable: bool


def of_node(each: nodes.Node) -> Host:
    """Return a host by its compute node."""
    node = each.node
    stats = node.stats or {}
    closed = closing.refusal(host_view.closed_until(node))
    trouble = each.trouble or (f'The host {closed}.' if closed else '')
    return Host(node.uuid, node.host, trouble, host_view.kind_of(node),
                stats.get('rt_dialect') or 'none', stats.get('rt_placement_policy'),
                host_view.reported_by(node), host_view.moving_on(node),
                host_view.criticalities_on(node))


def one(context: nova_context.RequestContext, name: str) -> tuple[Host, list[Held]]:
    """Return a host, and all that servers hold on it, as Nova's instances say.

    :param context: of an administrator
    :raises HostMappingNotFound, ComputeHostNotFound: if there is none of that name
    """
    cell, node = nodes.named(context, name)
    with nova_context.target_cell(context, cell) as there:
        here = node.node.host, node.node.hypervisor_hostname
        return of_node(node), sorted(
            _held(residents.on(there, here)), key=lambda held: (held.name, held.server))


def every(context: nova_context.RequestContext) -> list[Inhabited]:
    """Return the hosts of all cells, with their servers, by name.

    :param context: of an administrator
    :raises UnreachableError: if a cell does not answer
    """
    cells = [cell for cell in objects.CellMappingList.get_all(context) if not cell.is_cell0()]
    found = nova_context.scatter_gather_cells(
        context, cells, nova_context.CELL_TIMEOUT, _of_cell)
    silent = sorted(cell.name or cell.uuid for cell in cells
                    if not isinstance(found[cell.uuid], list))
    if silent:
        raise UnreachableError('Not all hosts are known, as no answer came from the database '
                               f'of {", ".join(silent)}: try again later.')
    return sorted((Inhabited(host, there, cell.uuid) for cell in cells
                   for host, there in found[cell.uuid]), key=lambda each: each.host.name)


def filled(reported: shares.HostShares, held: Iterable[Held]) -> shares.HostShares:
    """Return a host with what servers hold on it now: its report may be a minute old."""
    return shares.HostShares.empty(reported.capacity, reported.occupancy).add_all(
        (each.holding.reservation.bandwidth, each.holding.pcpus) for each in held)


def movable(held: Iterable[Held]) -> dict[str, ledger.Holding]:
    """Return what those servers hold that may be moved between pCPUs, by uuid."""
    return {each.server: each.holding for each in held if each.movable}


def may_move(resident: residents.Resident) -> bool:
    """Return whether a server's vCPUs may be moved to other pCPUs of its host now."""
    return (len(resident.holdings) == 1 and resident.migration is None
            and not resident.returns and vcpu_move.movable(resident.instance))


def _of_cell(context: nova_context.RequestContext,
             ) -> list[tuple[Host, list[residents.Resident]]]:
    return [(of_node(each), residents.on(
                context, (each.node.host, each.node.hypervisor_hostname)))
            for each in nodes.of_cell(context)]


def _held(servers: list[residents.Resident]) -> Iterator[Held]:
    for resident in servers:
        instance = resident.instance
        for holding in resident.holdings:
            yield Held(instance.uuid, instance.display_name or '',
                       instance.project_id, holding, may_move(resident))
