# SPDX-License-Identifier: Apache-2.0
"""The resource tracker, which also keeps the ledger of reservations.

The ledger is derived where Nova derives all other usage: from the instances
on the host and from the moves in progress to and from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import time
from typing import Any

from nova import context as nova_context
from nova import objects
from nova import utils
from nova.compute import resource_tracker
from nova.compute import task_states
from nova.compute import vm_states
from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import closing
from nova_rt import criticality
from nova_rt import fitting
from nova_rt import ledger
from nova_rt import moving
from nova_rt import reservation
from nova_rt import shares
from nova_rt.compute import claims
from nova_rt.compute import due_shares
from nova_rt.compute import foreign_shares
from nova_rt.compute import live_migration
from nova_rt.compute import vcpu_moves
from nova_rt.instance import eviction
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import moves

LOG = logging.getLogger(__name__)
CONF = cfg.CONF

_locked = utils.synchronized(resource_tracker.COMPUTE_RESOURCE_SEMAPHORE, fair=True)

_SERVER = 'server'
_MOVE = 'move'


class RTResourceTracker(resource_tracker.ResourceTracker):
    """Adds the host's reservations to what is tracked and reported.

    The driver must have an attribute ``reservations`` with ``empty``, the
    host's :class:`nova_rt.shares.HostShares` without any reservation, and
    ``dialect``, the name of its kernel's dialect.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ledger = ledger.Ledger()
        # The next one, until the moves are read: what the servers hold.
        self._derived = ledger.Ledger()
        self._moves = vcpu_moves.VCPUMoves(self)
        self._takes = frozenset(
            criticality.Criticality[name] for name in CONF.rt.criticalities)
        # By server, what is written down of those that were stopped for others.
        self.evicted: dict[str, eviction.Mark] = {}

    @property
    def shares(self) -> shares.HostShares:
        """The host with everything that is held on it."""
        return self.ledger.shares(self.driver.reservations.empty)

    @property
    def _moving(self) -> moving.Moving:
        """When vCPUs are moved on this host, as scheduler and API are told."""
        if not self.driver.reservations.can_move():
            return moving.Moving.NEVER
        return (moving.Moving.REFUSED if CONF.rt.defrag_on_refusal
                else moving.Moving.ASKED)

    # What a claim asks, under the tracker's lock

    def takes(self) -> frozenset[criticality.Criticality]:
        """See :class:`nova_rt.compute.claims.Tracker`."""
        return self._takes

    def closed_until(self) -> float | None:
        """See :class:`nova_rt.compute.claims.Tracker`."""
        here = {eviction.digest(node.uuid) for node in self.compute_nodes.values()}
        return max((mark.until_s for mark in list(self.evicted.values())
                    if mark.node in here and closing.lasts(mark.until_s, time.time())),
                   default=None)

    def place(self, nodename: str, wanted: reservation.Reservation) -> tuple[int, ...]:
        """See :class:`nova_rt.compute.claims.Tracker`."""
        try:
            missing = (fitting.shortfall(self.shares, wanted)
                       if self._moving is moving.Moving.REFUSED else None)
            if missing and not self._moves.make_room(nodename, wanted):
                raise missing
            return fitting.place(self.shares, wanted, CONF.rt.placement_policy)
        except fitting.NoRoomError as exc:
            raise claims.NoRoomOnHostError(f'No room for the reservation on {nodename}: {exc}'
            ) from None

    def fits_in_place(self, instance: objects.Instance, flavor: objects.Flavor) -> bool:
        """See :class:`nova_rt.compute.claims.Tracker`."""
        if instance.host != self.host or not in_place.possible(instance, flavor):
            return False
        try:
            self._check_in_place(instance, flavor)
        except fitting.NoRoomError:
            return False
        return True

    def _check_in_place(self, instance: objects.Instance, flavor: objects.Flavor) -> None:
        holding = holdings.holding_of(instance)
        wanted = flavors.reservation_of(flavor)
        if holding is None or wanted is None:
            return
        fitting.check_in_place(self.shares, holding.reservation, holding.pcpus, wanted)

    # Moves of vCPUs

    @_locked
    def move_vcpu(self, context: nova_context.RequestContext, server: str,
                  source: int, target: int) -> None:
        """Move a vCPU to another pCPU of this host; nothing else is claimed meanwhile.

        :param server: its uuid
        :raises MigrationError: with a clause, if the server stays as it was
        :raises InternalError: with a sentence, if it holds both pCPUs for now
        :raises InstanceNotFound: if it has gone
        """
        self._report_now(context, self._moves.move(server, source, target))

    @_locked
    def relieve(self, server: str, most: int) -> bool:
        """Move a vCPU of a server to where more can be lent to it.

        :param most: the bandwidth that may be lent on each pCPU, in fixed point
        :returns: whether that was done; if not, no pCPU is better, or it cannot be moved now
        :raises: as :meth:`move_vcpu`
        """
        container = self.driver.running().get(server)
        if container is None or not self.driver.reservations.can_move():
            return False
        node = self._moves.relieve(server, most, self.driver.reservations.loan(container.pid))
        if node is not None:
            self._report_now(nova_context.get_admin_context(), node)
        return node is not None

    def _report_now(self, context: nova_context.RequestContext, node: str) -> None:
        try:
            self._update(context.elevated(), self.compute_nodes[node])
        except Exception as exc:
            LOG.warning('The host could not be reported anew, which is done every minute: %s',
                        exc)

    @_locked
    def close(self, instance: objects.Instance, mark: eviction.Mark) -> None:
        """Take no new servers for a while, as one was stopped here."""
        self.evicted[instance.uuid] = mark
        self._report_now(nova_context.get_admin_context(), instance.node)

    def node_of(self, instance: objects.Instance) -> str:
        """Return the uuid of the compute node that a server of this host is on."""
        return self.compute_nodes[instance.node].uuid

    def hold(self, instance: objects.Instance) -> None:
        """Hold what an instance says; called under the lock."""
        # A server that arrived a moment ago is still held for its move.
        self._enter(instance, in_place.occupied_by(instance))

    # Changes in place

    @_locked
    def claim_in_place(self, instance: objects.Instance, flavor: objects.Flavor,
                       task_state: str) -> None:
        """Hold the larger of a server's reservation and a flavor's.

        The instance is saved under the lock: the periodic task derives the
        ledger from what is saved. When the change is over, call
        :meth:`settle`.

        :param task_state: what locks the server meanwhile
        :raises NoRoomOnHostError: if it does not fit on the server's pCPUs
        :raises UnexpectedTaskStateError: if something else is under way
        """
        try:
            self._check_in_place(instance, flavor)
        except fitting.NoRoomError as exc:
            raise claims.NoRoomOnHostError(
                f'No room on {instance.node} to change the reservation: '
                f'{exc}') from None
        instance.new_flavor = flavor
        in_place.begin(instance, in_place.HINT)
        instance.task_state = task_state
        instance.save(expected_task_state=[None])
        self.hold(instance)

    @_locked
    def end_in_place(self, context: nova_context.RequestContext, instance: objects.Instance,
                     flavor: objects.Flavor | None) -> None:
        """Count a server once again that is no longer changed in place.

        :param flavor: the one that it was to have
        """
        if instance.uuid in self.tracked_migrations:
            self._drop_move_claim(context, instance, instance.node, flavor)

    @_locked
    def settle(self, context: nova_context.RequestContext, instance: objects.Instance) -> None:
        """Hold, and report, what the instance says by now."""
        self.hold(instance)
        self._update(context.elevated(), self.compute_nodes[instance.node])

    def _enter(self, instance: objects.Instance, own: ledger.Holding | None,
               move: ledger.Holding | None = None) -> None:
        self.ledger.enter(instance.uuid, _SERVER, own)
        self.ledger.enter(instance.uuid, _MOVE, move)

    # What Nova tracks

    def _update(self, context: nova_context.RequestContext, compute_node: objects.ComputeNode,
                startup: bool = False) -> None:
        policy = CONF.rt.placement_policy
        compute_node.stats = dict(
            compute_node.stats or {},
            **shares.to_stats(self.shares, policy in fitting.WEIGHING_SIZES),
            rt_in_place='yes', rt_dialect=self.driver.reservations.dialect,
            rt_placement_policy=policy, **{
                moving.STAT: self._moving.value,
                criticality.STAT: criticality.to_stat(self.takes()),
                closing.STAT: closing.to_stat(self.closed_until())})
        super()._update(context, compute_node, startup)

    def _update_usage_from_instances(self, context: nova_context.RequestContext,
                                     instances: Sequence[objects.Instance], nodename: str) -> Any:
        self._moves.undo_interrupted(instances)
        node = self.compute_nodes[nodename]
        due_shares.tell(context, self.reportclient, node.uuid, instances)
        foreign_shares.give_back(context, self.reportclient, node,
                                 [instance.uuid for instance in instances])
        self.evicted = {instance.uuid: mark for instance in instances
                        if (mark := eviction.mark_of(instance)) is not None}
        # The database may fail: until the moves are read, too, all is held as before.
        held, self.ledger = self.ledger, ledger.Ledger()
        try:
            return super()._update_usage_from_instances(context, instances, nodename)
        finally:
            self._derived, self.ledger = self.ledger, held

    def _update_usage_from_instance(self, context: nova_context.RequestContext,
                                    instance: objects.Instance, nodename: str,
                                    is_removed: bool = False) -> None:
        super()._update_usage_from_instance(context, instance, nodename, is_removed)
        tracked = instance.uuid in self.tracked_instances
        self.ledger.enter(instance.uuid, _SERVER,
                          in_place.occupied_by(instance) if tracked else None)

    def _update_usage_from_migrations(self, context: nova_context.RequestContext,
                                      migrations: Sequence[objects.Migration],
                                      nodename: str) -> None:
        # What is confirmed or reverted is looked up among Nova's.
        held = self.ledger, dict(self.tracked_migrations)
        self.ledger = self._derived
        try:
            super()._update_usage_from_migrations(context, migrations, nodename)
            for instance, holding in moves.coming_back(context.elevated(), (self.host, nodename)):
                self._enter(instance, None, holding)
        except Exception:
            self.ledger, self.tracked_migrations = held
            raise

    def _update_usage_from_migration(self, context: nova_context.RequestContext,
                                     instance: objects.Instance, migration: objects.Migration,
                                     nodename: str) -> None:
        super()._update_usage_from_migration(context, instance, migration, nodename)
        self._enter(instance, *moves.sides(instance, migration, (self.host, nodename)))

    def _drop_move_claim(self, context: nova_context.RequestContext, instance: objects.Instance,
                         nodename: str, flavor: objects.Flavor | None = None,
                         prefix: str = 'new_') -> None:
        migration = self.tracked_migrations.get(instance.uuid)
        stays = None
        if migration and migration.source_compute == migration.dest_compute:
            # A server that is reverted has its old pCPUs again, and its old
            # flavor a little later.
            stays = holdings.holding_of(instance,
                instance.old_flavor if prefix == holdings.NEW else None)
        self._enter(instance, stays)
        super()._drop_move_claim(context, instance, nodename, flavor, prefix)

    # Claims

    def instance_claim(self, context: nova_context.RequestContext, instance: objects.Instance,
                       nodename: str, allocations: Mapping[str, Any], limits: Any = None) -> Any:
        """See base class; a claim that fails halfway leaves no entry."""
        try:
            return super().instance_claim(context, instance, nodename, allocations, limits)
        except Exception:
            self._forget(instance)
            raise

    def _move_claim(self, context: nova_context.RequestContext, instance: objects.Instance,
                    new_flavor: objects.Flavor, nodename: str, migration: objects.Migration,
                    allocations: Mapping[str, Any] | None, *args: Any, **kwargs: Any) -> Any:
        """See base class; a claim that fails halfway leaves no entry.

        :raises ComputeResourcesUnavailable: also if Placement has allocated
            only what a change in place adds, and the change does not fit; or
            if nobody waits for the claim of a live migration any more
        """
        if migration is not None and migration.is_live_migration:
            live_migration.check_awaited(context, migration)
        claims.check_allocated(self, instance, new_flavor, nodename, allocations)
        try:
            return super()._move_claim(context, instance, new_flavor, nodename, migration,
                allocations, *args, **kwargs)
        except Exception:
            self.ledger.enter(instance.uuid, _MOVE, None)
            claims.forget_move(instance, self.host)
            if instance.host == self.host:
                self.ledger.enter(instance.uuid, _SERVER, holdings.holding_of(instance))
            raise

    def abort_instance_claim(self, context: nova_context.RequestContext, instance: objects.Instance,
                             nodename: str) -> None:
        """See base class; the pCPUs are forgotten in the same save."""
        holdings.set_pcpus(instance, None)
        super().abort_instance_claim(context, instance, nodename)

    # The ends of servers and moves

    def update_usage(self, context: nova_context.RequestContext, instance: objects.Instance,
                     nodename: str) -> None:
        """See base class; a server that has gone holds nothing, tracked or not.

        Nova tracks a server that arrived only from the next periodic task on.
        """
        super().update_usage(context, instance, nodename)
        if vm_states.allow_resource_removal(
                vm_state=instance.vm_state, task_state=instance.task_state):
            self._forget(instance)
            self._report(context, nodename)

    @_locked
    def _forget(self, instance: objects.Instance) -> None:
        self._enter(instance, None)

    @_locked
    def _report(self, context: nova_context.RequestContext, nodename: str) -> None:
        if not self.disabled(nodename):
            self._update(context.elevated(), self.compute_nodes[nodename])

    @_locked
    def hold_where_left(self, instance: objects.Instance, nodename: str) -> None:
        """Claim for a server whose move failed after it left its source.

        Nova leaves it here, in most cases with its old flavor, for which
        nothing was claimed here. If that does not fit, the server holds
        nothing, and is not started.
        """
        self._enter(instance, None)
        holdings.end_move(instance)
        wanted = flavors.reservation_of(instance.flavor)
        try:
            holdings.set_pcpus(instance, self.place(nodename, wanted) if wanted else None)
        except claims.NoRoomOnHostError as exc:
            LOG.warning('After the move that failed: %s', exc,
                        instance=instance)
            holdings.set_pcpus(instance, None)
        self.ledger.enter(instance.uuid, _SERVER, holdings.holding_of(instance))

    def drop_move_claim_at_dest(self, context: nova_context.RequestContext,
                                instance: objects.Instance, migration: objects.Migration) -> None:
        """See base class; the server holds nothing until it is back.

        Its old pCPUs are those of its source. If it never arrives there, it
        has no claim here to be started with. This is saved before Nova says
        that the room here is free: a service that dies between leaves no claim.
        """
        holdings.set_pcpus(instance, None)
        instance.save(expected_task_state=[task_states.RESIZE_REVERTING])
        if migration.source_compute == migration.dest_compute:
            holdings.switch_side(instance, holdings.OLD)
        super().drop_move_claim_at_dest(context, instance, migration)

    def finish_evacuation(self, instance: objects.Instance, node: str,
                          migration: objects.Migration | None) -> None:
        """See base class; the server holds its new pCPUs from here on."""
        # Nova gives a rebuild any migration that waits to be evacuated.
        if migration is not None and instance.host != self.host:
            holdings.switch_side(instance, holdings.NEW)
            holdings.end_move(instance)
        super().finish_evacuation(instance, node, migration)
