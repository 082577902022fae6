# SPDX-License-Identifier: Apache-2.0
"""The kind that an existing server is: that of the host which has run it."""

from __future__ import annotations

from nova import context as nova_context
from nova import exception
from nova import objects

from nova_rt import kinds
from nova_rt import reservation
from nova_rt.filters import host_view


def of_instance(context: nova_context.RequestContext,
                instance: objects.Instance) -> kinds.Choice | None:
    """Return the kind of a server that is on a host and has run, None for others.

    A shelved server is on no host, and Nova has forgotten where it was.

    :param context: of the server's cell
    """
    if instance.launched_at is None or not instance.host:
        return None
    try:
        nodes = objects.ComputeNodeList.get_all_by_host(context, instance.host)
    except exception.ComputeHostNotFound:
        return None
    for node in nodes:
        kind = host_view.kind_of(node)
        if kind is not None:
            return kinds.Choice(kind, f'the server is a {kind.value}')
    return None


def agreed(chosen: kinds.Choice | None, existing: kinds.Choice | None) -> kinds.Choice | None:
    """Return the kind of a server that is moved, or of a new one.

    :raises reservation.InvalidReservationError: if flavor or image choose another kind
        than the server is
    """
    if chosen and existing and chosen.kind is not existing.kind:
        raise reservation.InvalidReservationError(
            f'{existing.reason[0].upper()}{existing.reason[1:]}, but {chosen.reason}, which '
            f'is for {chosen.kind.plural}.')
    return existing or chosen
