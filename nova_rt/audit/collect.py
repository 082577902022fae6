# SPDX-License-Identifier: Apache-2.0
"""What Nova and Placement say of one host, for the audit.

Everything is read as nova-compute reads it: Nova through the conductor or the
cell's database, whichever the process is set up for, Placement by its API.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import power_state
from nova.compute import task_states
from nova.compute import vm_states
from nova.scheduler.client import report

from nova_rt import drifts
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import moves

_ATTRIBUTES = ['system_metadata', 'flavor', 'migration_context']
# As nova.compute.resource_tracker has them: the states in which a migration
# that is not over says where a server is.
_MOVING = task_states.resizing_states + task_states.rebuild_states


def servers_on(context: nova_context.RequestContext,
               here: moves.Place) -> list[drifts.Server]:
    """Return the servers that have to do with a host, as Nova has them."""
    instances = {
        each.uuid: each for each in objects.InstanceList.get_by_host_and_node(
            context, *here, expected_attrs=_ATTRIBUTES)}
    told = {uuid: _settled(instance, here[0])
            for uuid, instance in instances.items()}
    for migration in objects.MigrationList.get_in_progress_and_error(
            context, *here):
        instance = instances.get(migration.instance_uuid) or _instance(
            context, migration.instance_uuid)
        if instance and _is_moved_by(instance, migration):
            told[instance.uuid] = _moving(instance, migration, here)
    for instance, holding in moves.coming_back(context, here):
        told[instance.uuid] = drifts.Server(
            instance.uuid, holdings=_all(holding))
    return list(told.values())


def placement_of(context: nova_context.RequestContext, provider: str,
                 servers: Collection[drifts.Server], here: moves.Place,
                 ) -> drifts.Placement:
    """Return what Placement says of a host's resource provider.

    :param provider: its uuid
    :param servers: those that have to do with the host
    :raises ClientException: keystoneauth1's, if it does not answer
    :raises ResourceProviderAllocationRetrievalFailed: if it answers no
    """
    client = report.report_client_singleton()
    promised = {
        consumer: each['resources'][shares.RESOURCE_CLASS]
        for consumer, each in client.get_allocations_for_resource_provider(
            context, provider).allocations.items()
        if shares.RESOURCE_CLASS in each['resources']}
    known = {consumer for server in servers
             for consumer in (server.uuid, *(server.promises or ()))}
    orphans, unknown = set(), set()
    for consumer in promised.keys() - known:
        business = _business(context, consumer, here)
        if business is None:
            unknown.add(consumer)
        elif not business:
            orphans.add(consumer)
    return drifts.Placement(
        _capacity(client, context, provider), promised,
        frozenset(orphans), frozenset(unknown))


def _settled(instance: objects.Instance, host: str) -> drifts.Server:
    wanted = _wanted(instance.flavor)
    holding = holdings.holding_of(instance)
    idle = instance.task_state is None
    if vm_states.allow_resource_removal(
            vm_state=instance.vm_state, task_state=instance.task_state):
        # It has gone, though whatever took it away died before it said so.
        return drifts.Server(
            instance.uuid, promises={instance.uuid: 0} if idle else None)
    builds = instance.vm_state == vm_states.BUILDING
    share = holding.reservation.share if holding else 0
    return drifts.Server(
        instance.uuid, wanted, _all(in_place.occupied_by(instance)),
        runs=holding if _runs(instance) else None,
        misses_claim=bool(wanted and not holding and idle and not builds),
        promises={instance.uuid: share} if idle and not builds else None,
        flavor_silent=_silent(instance.flavor, wanted))


def _moving(instance: objects.Instance, migration: objects.Migration,
            here: moves.Place) -> drifts.Server:
    own, move = moves.sides(instance, migration, here)
    runs_here = (instance.host, instance.node) == here and _runs(instance)
    return drifts.Server(
        instance.uuid, _wanted(instance.flavor), _all(own, move),
        runs=holdings.holding_of(instance) if runs_here else None,
        promises=dict(_promises(instance, migration, here))
        if instance.task_state is None else None)


def _promises(instance: objects.Instance, migration: objects.Migration,
              here: moves.Place) -> Iterator[tuple[str, int]]:
    """Yield what a server that is resized or migrated is promised here.

    The move itself has the old side, under its own uuid; of one in place, only
    what the old side has more.
    """
    if in_place.begun(instance):
        old, new = (each.reservation.share if each else 0 for each in (
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


def _is_moved_by(instance: objects.Instance,
                 migration: objects.Migration) -> bool:
    of_move = instance.migration_context
    return bool(of_move) and of_move.migration_id == migration.id and (
        instance.vm_state == vm_states.RESIZED
        or (instance.vm_state in (vm_states.ACTIVE, vm_states.STOPPED)
            and instance.task_state in _MOVING))


def _business(context: nova_context.RequestContext, consumer: str,
              here: moves.Place) -> bool | None:
    """Return whether a consumer may have a promise here; None: unknown.

    It is no server that Nova says is here or moves from or to here.
    """
    instance = _instance(context.elevated(read_deleted='yes'), consumer)
    if instance is not None:
        if instance.deleted:
            return False
        if instance.task_state is not None:
            return True
        return (instance.host, instance.node) == here or (
            instance.host is None and instance.vm_state == vm_states.BUILDING)
    try:
        migration = objects.Migration.get_by_uuid(context, consumer)
    except exception.MigrationNotFound:
        return None
    # Its status alone says little: that of one whose nova-compute died stays.
    instance = _instance(context, migration.instance_uuid)
    return instance is not None and (
        instance.task_state is not None or _is_moved_by(instance, migration))


def _instance(context: nova_context.RequestContext,
              uuid: str) -> objects.Instance | None:
    try:
        return objects.Instance.get_by_uuid(context, uuid, _ATTRIBUTES)
    except exception.InstanceNotFound:
        return None


def _capacity(client: report.SchedulerReportClient,
              context: nova_context.RequestContext,
              provider: str) -> int | None:
    answer = client.get(
        f'/resource_providers/{provider}/inventories/{shares.RESOURCE_CLASS}',
        global_request_id=context.global_id)
    if not answer:
        return None
    told: Mapping[str, int] = answer.json()
    return told['total'] - told['reserved']


def _wanted(flavor: objects.Flavor) -> reservation.Reservation | None:
    try:
        return flavors.reservation_of(flavor)
    except reservation.InvalidReservationError:
        return None


def _runs(instance: objects.Instance) -> bool:
    return instance.task_state is None and instance.vm_state in (
        vm_states.ACTIVE, vm_states.RESIZED, vm_states.RESCUED) \
        and instance.power_state == power_state.RUNNING


def _silent(flavor: objects.Flavor,
            wanted: reservation.Reservation | None) -> bool:
    return wanted is not None and (
        flavor.extra_specs.get(shares.EXTRA_SPEC) != str(wanted.share))


def _all(*holdings: ledger.Holding | None) -> tuple[ledger.Holding, ...]:
    return tuple(each for each in holdings if each is not None)
