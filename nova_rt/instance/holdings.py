# SPDX-License-Identifier: Apache-2.0
"""What Nova's instance says a server holds: a reservation on chosen pCPUs.

The reservation is in the instance's flavor. The pCPUs that the claim chose are
in its system metadata: ``rt_pcpus``, and, while the server is moved,
``old_rt_pcpus`` and ``new_rt_pcpus``.
"""

from __future__ import annotations

from nova import context as nova_context
from nova import exception
from nova import objects

from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.instance import flavors

PCPUS = 'rt_pcpus'
OLD = 'old_'
NEW = 'new_'
# Marks a move that changes the running container in place.
IN_PLACE = 'rt_in_place'
# Marks a server whose reservation was changed, and whose hint is still to follow.
HINT_DUE = 'rt_hint_due'
# Marks a server that holds less than Placement has allocated to it.
SHARE_DUE = 'rt_share_due'
# By how much share a server grows if the change that was asked for last has begun.
GROWTH = 'rt_growth'


def fetch(context: nova_context.RequestContext, server: str) -> objects.Instance:
    """Return a server, by its uuid, with what its reservation is read from."""
    return objects.Instance.get_by_uuid(context, server, ['system_metadata', 'flavor'])


def find(context: nova_context.RequestContext, server: str) -> objects.Instance | None:
    """Return a server as :func:`fetch` does, whichever cell has it; None while none has.

    :raises InstanceMappingNotFound: if Nova does not know it
    """
    mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    if mapping.cell_mapping is None:
        return None
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        return fetch(cell, server)


def holding_of(instance: objects.Instance, flavor: objects.Flavor | None = None,
               prefix: str = '') -> ledger.Holding | None:
    """Return what a server holds, None if it holds nothing.

    :param flavor: the flavor with the reservation; the instance's own by default
    :param prefix: ``old_`` or ``new_`` for a side of a move
    """
    # First: a flavor that no claim has seen may ask for an invalid reservation.
    mask = instance.system_metadata.get(prefix + PCPUS)
    if not mask:
        return None
    flavor = flavor or instance.flavor
    wanted = flavors.reservation_of(flavor)
    if wanted is None:
        return None
    return ledger.Holding(
        wanted, ledger.from_mask(mask), elastic.terms(flavor.extra_specs, wanted))


def holding_on(instance: objects.Instance,
               host: str) -> ledger.Holding | None:
    """Return what a server holds on the host that starts it.

    A server that is being evacuated is started on a host that is not yet its
    own: there it holds the new side of the move.

    :raises InstanceDeployFailure: if it should hold something but does not,
        so that it would run without its reservation, or its flavor asks for an
        invalid one
    """
    holding = holding_of(instance,
                         prefix='' if instance.host == host else NEW)
    try:
        wanted = flavors.reservation_of(instance.flavor)
    except reservation.InvalidReservationError as exc:
        raise exception.InstanceDeployFailure(reason=str(exc)) from None
    if holding is None and wanted is not None:
        raise exception.InstanceDeployFailure(
            reason='The server has a reservation but no claim on pCPUs of '
                   f'{host}: resize or migrate it, or shelve and unshelve it.')
    return holding


def set_pcpus(instance: objects.Instance, pcpus: tuple[int, ...] | None,
              prefix: str = '') -> None:
    """Record the pCPUs on the instance, to be saved with it; None: none."""
    if pcpus:
        instance.system_metadata[prefix + PCPUS] = ledger.to_mask(pcpus)
    else:
        instance.system_metadata.pop(prefix + PCPUS, None)


def switch_side(instance: objects.Instance, prefix: str) -> None:
    """Make one side of a move what the server holds, to be saved with it."""
    mask = instance.system_metadata.get(prefix + PCPUS)
    set_pcpus(instance, ledger.from_mask(mask) if mask else None)


def has_sides(instance: objects.Instance) -> bool:
    """Whether a server holds something for a move, or for a change in place."""
    return any(prefix + PCPUS in instance.system_metadata for prefix in (OLD, NEW))


def end_move(instance: objects.Instance) -> None:
    """Forget both sides of a move, or of a change in place."""
    set_pcpus(instance, None, OLD)
    set_pcpus(instance, None, NEW)
    instance.system_metadata.pop(IN_PLACE, None)
