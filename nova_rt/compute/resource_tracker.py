# SPDX-License-Identifier: Apache-2.0
"""The resource tracker, which also keeps the ledger of reservations.

The ledger is derived where Nova derives all other usage: from the instances
on the host and from the moves in progress to and from it.
"""

from nova import exception
from nova import utils
from nova.compute import resource_tracker
from nova.compute import task_states
from nova.compute import vm_states
from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import fitting
from nova_rt import ledger
from nova_rt import shares
from nova_rt.compute import claims
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import moves

LOG = logging.getLogger(__name__)
CONF = cfg.CONF

_locked = utils.synchronized(resource_tracker.COMPUTE_RESOURCE_SEMAPHORE,
                             fair=True)

_SERVER = 'server'
_MOVE = 'move'


class RTResourceTracker(resource_tracker.ResourceTracker):
    """Adds the host's reservations to what is tracked and reported.

    The driver must have an attribute ``reservations`` with ``empty``, the
    host's :class:`nova_rt.shares.HostShares` without any reservation, and
    ``dialect``, the name of its kernel's dialect.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ledger = ledger.Ledger()

    @property
    def shares(self):
        """The host with everything that is held on it."""
        return self.ledger.shares(self.driver.reservations.empty)

    def place(self, nodename, wanted):
        """Choose pCPUs for a reservation; called under the tracker's lock.

        :raises NoRoomOnHostError: if it does not fit
        """
        try:
            return fitting.place(self.shares, wanted,
                                  CONF.rt.placement_policy)
        except fitting.NoRoomError as miss:
            raise claims.NoRoomOnHostError(
                f'No room for the reservation on {nodename}: {miss}.'
            ) from None

    def fits_in_place(self, instance, flavor):
        """Return whether a server can be given a flavor without a restart.

        Called under the tracker's lock.
        """
        if instance.host != self.host or not in_place.possible(
                instance, flavor):
            return False
        try:
            self._check_in_place(instance, flavors.reservation_of(flavor))
        except fitting.NoRoomError:
            return False
        return True

    def _check_in_place(self, instance, wanted):
        holding = holdings.holding_of(instance)
        fitting.check_in_place(
            self.shares, holding.reservation, holding.pcpus, wanted)

    @_locked
    def claim_in_place(self, instance, flavor, task_state):
        """Hold the larger of a server's reservation and a flavor's.

        The instance is saved with it under the lock: the periodic task derives
        from what is saved. When that is over, call :meth:`settle_in_place`.

        :param task_state: what locks the server meanwhile
        :raises NoRoomOnHostError: if it does not fit on the server's pCPUs
        :raises UnexpectedTaskStateError: if something else is under way
        """
        try:
            self._check_in_place(instance, flavors.reservation_of(flavor))
        except fitting.NoRoomError as miss:
            raise claims.NoRoomOnHostError(
                f'No room on {instance.node} to change the reservation: '
                f'{miss}.') from None
        instance.new_flavor = flavor
        in_place.note(instance, in_place.HINT)
        instance.task_state = task_state
        instance.save(expected_task_state=[None])
        self._hold(instance)

    @_locked
    def end_in_place(self, context, instance, flavor):
        """Count a server once again that is no longer changed in place.

        :param flavor: the one that it was to have
        """
        if instance.uuid in self.tracked_migrations:
            self._drop_move_claim(context, instance, instance.node, flavor)

    @_locked
    def settle_in_place(self, context, instance):
        """Hold, and tell, what the instance says by now."""
        self._hold(instance)
        self._update(context.elevated(), self.compute_nodes[instance.node])

    def _hold(self, instance):
        # One that arrived a moment ago is still held for its move.
        self.ledger.enter(instance.uuid, _MOVE, None)
        self.ledger.enter(instance.uuid, _SERVER,
                          in_place.occupied_by(instance))

    def _update(self, context, compute_node, startup=False):
        compute_node.stats = dict(
            compute_node.stats or {}, **shares.to_stats(self.shares),
            rt_in_place='yes', rt_dialect=self.driver.reservations.dialect,
            rt_placement_policy=CONF.rt.placement_policy)
        super()._update(context, compute_node, startup)

    def _update_usage_from_instances(self, context, instances, nodename):
        self.ledger.forget(_SERVER)
        return super()._update_usage_from_instances(
            context, instances, nodename)

    def _update_usage_from_instance(self, context, instance, nodename,
                                    is_removed=False):
        super()._update_usage_from_instance(
            context, instance, nodename, is_removed)
        tracked = instance.uuid in self.tracked_instances
        self.ledger.enter(instance.uuid, _SERVER,
                          in_place.occupied_by(instance) if tracked else None)

    def _update_usage_from_migrations(self, context, migrations, nodename):
        self.ledger.forget(_MOVE)
        super()._update_usage_from_migrations(context, migrations, nodename)
        for instance, holding in moves.coming_back(
                context.elevated(), (self.host, nodename)):
            self.ledger.enter(instance.uuid, _SERVER, None)
            self.ledger.enter(instance.uuid, _MOVE, holding)

    def _update_usage_from_migration(self, context, instance, migration,
                                     nodename):
        super()._update_usage_from_migration(
            context, instance, migration, nodename)
        server, move = moves.sides(instance, migration, (self.host, nodename))
        self.ledger.enter(instance.uuid, _SERVER, server)
        self.ledger.enter(instance.uuid, _MOVE, move)

    def _drop_move_claim(self, context, instance, nodename, flavor=None,
                         prefix='new_'):
        migration = self.tracked_migrations.get(instance.uuid)
        stays = None
        if migration and migration.source_compute == migration.dest_compute:
            # A server that is reverted has its old pCPUs again, and its old
            # flavor a little later.
            stays = holdings.holding_of(
                instance, instance.old_flavor if prefix == holdings.NEW else None)
        self.ledger.enter(instance.uuid, _MOVE, None)
        self.ledger.enter(instance.uuid, _SERVER, stays)
        super()._drop_move_claim(context, instance, nodename, flavor, prefix)

    def instance_claim(self, context, instance, nodename, allocations,
                       limits=None):
        """See base class; a claim that fails halfway leaves no entry."""
        try:
            return super().instance_claim(
                context, instance, nodename, allocations, limits)
        except Exception:
            self._forget(instance)
            raise

    def _move_claim(self, context, instance, new_flavor, nodename, migration,
                    allocations, *args, **kwargs):
        """See base class; a claim that fails halfway leaves no entry.

        :raises ComputeResourcesUnavailable: also if Placement has promised
            only what a change in place needs besides, which does not fit
        """
        self._check_promise(instance, new_flavor, nodename, allocations)
        try:
            return super()._move_claim(
                context, instance, new_flavor, nodename, migration,
                allocations, *args, **kwargs)
        except Exception:
            self.ledger.enter(instance.uuid, _MOVE, None)
            holdings.end_move(instance)
            if instance.host == self.host:
                self.ledger.enter(instance.uuid, _SERVER,
                                  holdings.holding_of(instance))
            raise

    def _check_promise(self, instance, flavor, nodename, allocations):
        if instance.host != self.host:
            return
        wanted = flavors.reservation_of(flavor)
        here = (allocations or {}).get(self.compute_nodes[nodename].uuid, {})
        has = here.get('resources', {}).get(shares.RESOURCE_CLASS, 0)
        if wanted and has < wanted.share and not self.fits_in_place(
                instance, flavor):
            raise exception.ComputeResourcesUnavailable(
                reason=f'{nodename} has no room any more to change the '
                       'reservation in place: try again.')

    def update_usage(self, context, instance, nodename):
        """See base class; what has gone holds nothing, tracked or not.

        Nova tracks a server that arrived only from the next periodic task on.
        """
        super().update_usage(context, instance, nodename)
        if vm_states.allow_resource_removal(
                vm_state=instance.vm_state, task_state=instance.task_state):
            self._forget(instance)
            self._report(context, nodename)

    @_locked
    def _forget(self, instance):
        self.ledger.enter(instance.uuid, _SERVER, None)
        self.ledger.enter(instance.uuid, _MOVE, None)

    @_locked
    def _report(self, context, nodename):
        if not self.disabled(nodename):
            self._update(context.elevated(), self.compute_nodes[nodename])

    @_locked
    def hold_where_left(self, instance, nodename):
        """Claim for a server whose move failed after it left its source.

        Nova leaves it here, in most cases with its old flavor, for which
        nothing was claimed here. If that does not fit, the server holds
        nothing, and is not started.
        """
        self.ledger.enter(instance.uuid, _MOVE, None)
        self.ledger.enter(instance.uuid, _SERVER, None)
        holdings.end_move(instance)
        wanted = flavors.reservation_of(instance.flavor)
        try:
            holdings.set_pcpus(instance,
                           wanted and self.place(nodename, wanted))
        except claims.NoRoomOnHostError as why:
            LOG.warning('After the move that failed: %s', why,
                        instance=instance)
            holdings.set_pcpus(instance, None)
        self.ledger.enter(instance.uuid, _SERVER, holdings.holding_of(instance))

    def abort_instance_claim(self, context, instance, nodename):
        """See base class; the pCPUs are forgotten in the same save."""
        holdings.set_pcpus(instance, None)
        super().abort_instance_claim(context, instance, nodename)

    def drop_move_claim_at_dest(self, context, instance, migration):
        """See base class; the server holds nothing until it is back.

        Its old pCPUs are those of its source. If it never arrives there, it
        has no claim here to be started with; that is saved before Nova says
        that the room here is free, or a service that dies between leaves one.
        """
        holdings.set_pcpus(instance, None)
        instance.save(expected_task_state=[task_states.RESIZE_REVERTING])
        if migration.source_compute == migration.dest_compute:
            holdings.switch_side(instance, holdings.OLD)
        super().drop_move_claim_at_dest(context, instance, migration)

    def finish_evacuation(self, instance, node, migration):
        """See base class; the server holds its new pCPUs from here on."""
        # Nova gives a rebuild any migration that waits to be evacuated.
        if migration is not None and instance.host != self.host:
            holdings.switch_side(instance, holdings.NEW)
            holdings.end_move(instance)
        super().finish_evacuation(instance, node, migration)
