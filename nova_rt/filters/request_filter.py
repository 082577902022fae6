# SPDX-License-Identifier: Apache-2.0
"""The request filter that asks Placement for a reservation's share.

Placement allocates it together with all else that a server needs, in one step,
so no two schedulers allocate the same bandwidth. Where Placement has no host,
the shortfall is looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nova import context as nova_context
from nova import exception
from nova import objects

from nova_rt import allocations
from nova_rt import fitting
from nova_rt import kinds
from nova_rt import reservation
from nova_rt import shares
from nova_rt.filters import host_view
from nova_rt.filters import in_place_resize
from nova_rt.filters import request_state
from nova_rt.filters import server_kind
from nova_rt.instance import holdings
from nova_rt.instance import request_specs

# Hosts of each cell that are looked at for the smallest shortfall.
_LOOKED_AT = 1000
# How often Placement is asked where it has the share by itself.
_QUESTIONS = 3


def ask_for_share(context: nova_context.RequestContext,
                  spec: objects.RequestSpec) -> bool:
    """Ask for the share and for a host that offers reservations.

    A request filter, which Nova calls before it asks Placement.

    The request is the scheduler's own copy: neither the flavor in the
    database nor the server's is changed. The share is in the flavor, and not
    in a request group of its own, so that Nova asks for it where it asks for
    the vCPUs.

    :returns: whether the request is for a reservation
    :raises NoValidHost: if the reservation is invalid, or for another kind of
        server than this one is
    """
    try:
        state = _begin(context, spec)
    except reservation.InvalidReservationError as exc:
        raise exception.NoValidHost(reason=str(exc)) from None
    if 'extra_specs' not in spec.flavor:
        spec.flavor.extra_specs = {}
    if state.wanted is None:
        # A share set by hand would be paid for without a reservation.
        spec.flavor.extra_specs.pop(shares.EXTRA_SPEC, None)
        return False
    spec.flavor.extra_specs[shares.EXTRA_SPEC] = str(state.wanted.share)
    spec.root_required.update(_traits(state.kind))
    in_place_resize.ask_to_stay(context, state, state.wanted)
    return True


def _begin(context: nova_context.RequestContext,
           spec: objects.RequestSpec) -> request_state.RequestState:
    """Start to work on a request; one that moves a server is for what that server is.

    :raises InvalidReservationError: if the reservation is invalid, or for another kind
    """
    destination = request_specs.moved(spec)
    if destination is None:
        return request_state.begin(spec)
    with nova_context.target_cell(context, destination.cell) as cell:
        try:
            instance = holdings.fetch(cell, spec.instance_uuid)
        except exception.InstanceNotFound:
            return request_state.begin(spec)
        request_specs.take_own_flavor(spec, instance)
        state = request_state.begin(spec)
        if state.wanted is not None:
            state.kind = server_kind.agreed(
                state.kind, server_kind.of_instance(cell, instance))
        return state


def find_candidates(context: nova_context.RequestContext,
                    ask: Callable[[], Any]) -> Any:
    """Return what Placement answers Nova, or say what the share is short of.

    Nova itself would give no reason. If there is no host, but one with the
    share by itself, either something else is missing, which Nova reports, or a
    server has given back its share since: so Placement is asked again.

    :param ask: Nova's question: the allocations that Placement offers come
        first in the answer; None if it did not answer
    :raises NoValidHost: if no host that the request may go to has the share left
    """
    state = request_state.current()
    wanted = state.wanted if state else None
    for _ in range(_QUESTIONS):
        candidates = ask()
        if state is None or wanted is None or candidates is None or candidates[0]:
            break
        named = _destination(state)
        nodes = _nodes(context, named) if named else None
        if _is_refused(context, wanted, state.kind, nodes):
            shortfall = _smallest_shortfall(
                _nodes(context) if nodes is None else nodes, wanted, state.kind, named)
            raise exception.NoValidHost(reason=f'{shortfall}.')
    return candidates


def _traits(kind: kinds.Choice | None) -> set[str]:
    return {shares.TRAIT} if kind is None else {shares.TRAIT, kind.kind.trait}


def _destination(state: request_state.RequestState) -> str | None:
    """Return the host that a request names, None if any will do."""
    if state.stays:
        # It was chosen here.
        return None
    spec = state.spec
    destination = spec.requested_destination if 'requested_destination' in spec else None
    if destination is not None and 'host' in destination and destination.host:
        return destination.host
    return next(iter(spec.force_hosts or ()), None) if 'force_hosts' in spec else None


def _nodes(context: nova_context.RequestContext,
           host: str | None = None) -> list[objects.ComputeNode]:
    """Return the compute nodes of a host, or of all."""
    by_cell = (
        nova_context.scatter_gather_skip_cell0(
            context, objects.ComputeNodeList.get_by_pagination, limit=_LOOKED_AT)
        if host is None else nova_context.scatter_gather_skip_cell0(
            context, objects.ComputeNodeList.get_all_by_host, host))
    # A cell that does not have it answers with an exception.
    return [node for nodes in by_cell.values()
            if isinstance(nodes, objects.ComputeNodeList) for node in nodes]


def _is_refused(context: nova_context.RequestContext, wanted: reservation.Reservation,
                kind: kinds.Choice | None, nodes: list[objects.ComputeNode] | None) -> bool:
    """Return whether Placement has none of these hosts with the share left.

    :param nodes: None for any host
    """
    placement = allocations.PlacementClient(context)
    providers = [None] if nodes is None else [node.uuid for node in nodes]
    return all(placement.has_candidate(wanted.share, _traits(kind), provider) is False
               for provider in providers)


def _smallest_shortfall(nodes: list[objects.ComputeNode], wanted: reservation.Reservation,
                        kind: kinds.Choice | None, named: str | None) -> str:
    """Return what the host of this kind that comes nearest is short of."""
    shortfalls = [_shortfall(node, wanted) for node in nodes
                  if kind is None or host_view.kind_of(node) is kind.kind]
    if not shortfalls:
        nobody = f'{named} offers no' if named else 'There is no host that offers'
        return f'{nobody} CPU reservations' + (
            f' to {kind.kind.plural}, but {kind.reason}' if kind else '')
    return str(min(shortfalls, key=lambda shortfall: shortfall.missing))


def _shortfall(node: objects.ComputeNode,
               wanted: reservation.Reservation) -> fitting.NoRoomError:
    return host_view.shortfall(
        node.host, host_view.reported_by(node), wanted,
    ) or fitting.NoRoomError(0, lambda: (
        f'The bandwidth that {node.host} has left is allocated to servers that '
        'are being built or moved: try again'))
