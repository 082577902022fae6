# SPDX-License-Identifier: Apache-2.0
"""Collects what Nova and Placement say of one host, for the audit.

Everything is read as nova-compute reads it: Nova through the conductor or the
cell's database, whichever the process is set up for, Placement by its API.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import power_state
from nova.compute import vm_states

from nova_rt import allocations
from nova_rt import drifts
from nova_rt import reservation
from nova_rt import shares
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import moves
from nova_rt.instance import residents


def servers_on(context: nova_context.RequestContext,
               here: moves.Place) -> list[drifts.Server]:
    """Return the servers that concern a host, as Nova has them."""
    return [_server(resident, here) for resident in residents.on(context, here)]


def placement_of(context: nova_context.RequestContext,
                 placement: allocations.PlacementClient, provider: str,
                 servers: Collection[drifts.Server], here: moves.Place,
                 ) -> drifts.Placement:
    """Return what Placement says of a host's resource provider.

    :param provider: its uuid
    :param servers: those that concern the host
    :raises ClientException: keystoneauth1's, if it does not answer
    :raises ResourceProviderAllocationRetrievalFailed: if it refuses
    """
    allocated = placement.shares_on(provider)
    known = {consumer for server in servers
             for consumer in (server.uuid, *(server.allocations or ()))}
    orphans, unknown = set(), set()
    for consumer in allocated.keys() - known:
        entitled = _is_entitled(context, consumer, here)
        if entitled is None:
            unknown.add(consumer)
        elif not entitled:
            orphans.add(consumer)
    return drifts.Placement(placement.capacity(provider), allocated,
                            frozenset(orphans), frozenset(unknown))


def _server(resident: residents.Resident, here: moves.Place) -> drifts.Server:
    instance = resident.instance
    if resident.returns:
        return drifts.Server(instance.uuid, holdings=resident.holdings)
    if resident.migration is not None:
        return moving(instance, resident.migration, here)
    return settled(instance)


def settled(instance: objects.Instance) -> drifts.Server:
    """Return what follows from a server that is on the host and not moved."""
    wanted = _wanted(instance.flavor)
    holding = holdings.holding_of(instance)
    idle = instance.task_state is None
    if residents.is_gone(instance):
        return drifts.Server(
            instance.uuid,
            allocations={instance.uuid: 0} if idle else None)
    builds = instance.vm_state == vm_states.BUILDING
    share = holding.reservation.share if holding else 0
    return drifts.Server(
        instance.uuid, wanted, residents.held(instance),
        runs=holding if _runs(instance) else None,
        lacks_claim=bool(wanted and not holding and idle and not builds),
        allocations={instance.uuid: share} if idle and not builds else None,
        flavor_silent=_is_silent(instance.flavor, wanted))


def moving(instance: objects.Instance, migration: objects.Migration,
           here: moves.Place) -> drifts.Server:
    """Return what follows from a server that moves from or to the host."""
    runs_here = (instance.host, instance.node) == here and _runs(instance)
    return drifts.Server(
        instance.uuid, _wanted(instance.flavor),
        residents.held_by_moving(instance, migration, here),
        runs=holdings.holding_of(instance) if runs_here else None,
        allocations=dict(_allocations(instance, migration, here))
        if instance.task_state is None else None)


def _allocations(instance: objects.Instance, migration: objects.Migration,
                 here: moves.Place) -> Iterator[tuple[str, int]]:
    """Yield what a server that is resized or migrated has allocated here.

    The migration has the old side, under its own uuid; of one in place, only
    what the old side has more.
    """
    if in_place.begun(instance):
        old, new = (side.reservation.share if side else 0 for side in (
            in_place.side(instance, holdings.OLD),
            in_place.side(instance, holdings.NEW)))
        yield instance.uuid, new
        yield migration.uuid, max(old - new, 0)
        return
    for consumer, place, prefix in (
            (migration.uuid, moves.source(migration), holdings.OLD),
            (instance.uuid, moves.destination(migration), holdings.NEW)):
        if place == here:
            wanted = _wanted(moves.flavor(instance, migration, prefix))
            yield consumer, wanted.share if wanted else 0


def _is_entitled(context: nova_context.RequestContext, consumer: str,
                 here: moves.Place) -> bool | None:
    """Return whether a consumer may have an allocation here; None: unknown.

    It is no server that Nova says is here or moves from or to here.
    """
    instance = residents.find(context.elevated(read_deleted='yes'), consumer)
    if instance is not None:
        if instance.deleted:
            return False
        if instance.task_state is not None:
            return True
        # One in ERROR whose build was interrupted keeps what it was to have until it is deleted.
        return (instance.host, instance.node) == here or (
            instance.host is None
            and instance.vm_state in (vm_states.BUILDING, vm_states.ERROR))
    try:
        migration = objects.Migration.get_by_uuid(context, consumer)
    except exception.MigrationNotFound:
        return None
    # Its status alone says little: that of one whose nova-compute died stays.
    instance = residents.find(context, migration.instance_uuid)
    return instance is not None and (
        instance.task_state is not None or residents.is_moved_by(instance, migration))


def _wanted(flavor: objects.Flavor | None) -> reservation.Reservation | None:
    try:
        return flavors.reservation_of(flavor) if flavor else None
    except reservation.InvalidReservationError:
        return None


def _runs(instance: objects.Instance) -> bool:
    return instance.task_state is None and instance.vm_state in (
        vm_states.ACTIVE, vm_states.RESIZED, vm_states.RESCUED) \
        and instance.power_state == power_state.RUNNING


def _is_silent(flavor: objects.Flavor,
               wanted: reservation.Reservation | None) -> bool:
    return wanted is not None and (
        flavor.extra_specs.get(shares.EXTRA_SPEC) != str(wanted.share))
