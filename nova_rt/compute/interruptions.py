# SPDX-License-Identifier: Apache-2.0
"""What was interrupted when nova-rt-compute was killed, and is ended when it starts.

Nova ends much of it itself, before; this is what it leaves, or leaves halfway.
"""

from __future__ import annotations

from nova import context as nova_context
from nova import objects
from nova.compute import manager as nova_manager

from nova_rt import allocations
from nova_rt.compute import due_shares
from nova_rt.compute import in_place_resize
from nova_rt.compute import interrupted_arrivals
from nova_rt.compute import interrupted_moves
from nova_rt.compute import live_migration
from nova_rt.compute import reservation_change
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import moves


def apply_marked(manager: nova_manager.ComputeManager, resizes: in_place_resize.InPlaceResize,
                 context: nova_context.RequestContext) -> None:
    """Give servers in the kernel what they hold, if a failed evacuation left their host in doubt.

    It has overwritten the record of the change that it interrupted. Call this before Placement
    is told, which takes the mark away.

    :param resizes: gives later what cannot be given now
    """
    for instance in objects.InstanceList.get_by_host(
            context, manager.host, expected_attrs=list(moves.ATTRIBUTES)):
        if not due_shares.is_marked(instance) or in_place.begun(instance):
            continue
        with in_place_resize.logged(instance):
            holding = holdings.holding_of(instance)
            if holding is not None:
                resizes.give(instance, holding)


def end(manager: nova_manager.ComputeManager, resizes: in_place_resize.InPlaceResize,
        changes: reservation_change.ReservationChange, context: nova_context.RequestContext,
        leaving: list[tuple[objects.Instance, objects.Migration]]) -> None:
    """End all of it; what cannot be ended is logged, and is looked at again at the next start.

    :param resizes: the manager's collaborator for resizes in place, as ``changes`` is for hints
    :param leaving: the live migrations from here, which are taken out
    """
    while leaving:
        instance, migration = leaving.pop()
        with in_place_resize.logged(instance):
            live_migration.end_interrupted(manager, context, instance, migration)
    begun = [instance for instance in objects.InstanceList.get_by_host(
                 context, manager.host, expected_attrs=list(moves.ATTRIBUTES))
             if in_place.begun(instance) and not in_place.by_move(instance)]
    for instance in begun:
        finish = (changes if in_place.by_hint(instance) else resizes).finish_interrupted
        with in_place_resize.logged(instance):
            finish(context, instance)
    for instance, migration in interrupted_moves.of_source(context, manager.host):
        with in_place_resize.logged(instance):
            interrupted_moves.finish(manager, context, instance, migration)
    for instance, migration in interrupted_moves.left_behind(context, manager.host):
        with in_place_resize.logged(instance):
            interrupted_moves.give_up(manager, context, instance, migration)
    for instance, migration in interrupted_moves.never_left(context, manager.host):
        with in_place_resize.logged(instance):
            interrupted_moves.stay(manager, context, instance, migration)
    arriving = list(interrupted_arrivals.evacuations(context, manager.host))
    for instance, migration in arriving:
        with in_place_resize.logged(instance):
            interrupted_arrivals.end_evacuation(manager, context, instance, migration)
    for name, node in list(manager.rt.compute_nodes.items()):
        resizes.undo_unclaimed(context, name)
        _settle_allocations(manager, context, node)
    if begun or arriving:
        manager.update_available_resource(context)


def _settle_allocations(manager: nova_manager.ComputeManager,
                        context: nova_context.RequestContext,
                        node: objects.ComputeNode) -> None:
    """Have the periodic updates allocate and give back what is left to them."""
    placement = allocations.PlacementClient(context.elevated(), manager.reportclient)
    allocated = placement.try_shares_on(node.uuid)
    if allocated is None:
        return
    for instance in interrupted_arrivals.unshelves(context, allocated):
        with in_place_resize.logged(instance):
            interrupted_arrivals.end_unshelve(instance)
    for instance in due_shares.unknown(context, node, allocated):
        with in_place_resize.logged(instance):
            due_shares.mark(instance)
            instance.save()
