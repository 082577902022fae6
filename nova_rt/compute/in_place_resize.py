# SPDX-License-Identifier: Apache-2.0
"""Resizes that change a running server's reservation without a restart.

Nova's instance is the journal. The old and the new reservation, and that the
change is in place, are saved with it before anything changes; one save then
gives it the new reservation, or the old one back. A change that was interrupted
is completed or undone when the service starts.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import manager as nova_manager
from nova.compute import task_states
from nova.compute import utils as compute_utils
from nova.compute import vm_states
from nova.objects import fields
from oslo_log import log as logging
from oslo_utils import timeutils

from nova_rt import allocations
from nova_rt import ledger
from nova_rt.compute import interrupted_moves
from nova_rt.compute import resource_tracker
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import moves

LOG = logging.getLogger(__name__)

# The task states in which an interrupted change is found at start; Nova itself
# clears those of the resizing states then.
_INTERRUPTED = (None, *task_states.resizing_states,
                task_states.RESIZE_REVERTING)
_MOVES = (fields.MigrationType.RESIZE, fields.MigrationType.MIGRATION)
_START = fields.NotificationPhase.START
_END = fields.NotificationPhase.END


class InPlaceResize:
    """Does, reverts and takes back resizes in place, for the manager.

    :param manager: its driver must have ``change_reservation(instance, holding)``
    :param tracker: the manager's resource tracker
    """

    def __init__(self, manager: nova_manager.ComputeManager,
                 tracker: resource_tracker.RTResourceTracker) -> None:
        self._manager = manager
        self._tracker = tracker
        # The servers of which a resize failed, and could not be taken back yet.
        self._left: set[str] = set()
        # Those that could not be given what they hold, as where a revert failed.
        self._lacking: set[str] = set()
        # By server, what resizes those that were interrupted, and are locked until that is ended.
        self._locked: dict[str, int] = {}

    def resize(self, context: nova_context.RequestContext, instance: objects.Instance,
               migration: objects.Migration) -> None:
        """Give a server its new reservation; it goes on running.

        Only its budget changes: no disk, volume, port or domain.

        :raises InstanceFaultRollback: if it keeps the old one
        """
        instance.task_state = task_states.RESIZE_FINISH
        try:
            instance.save(expected_task_state=task_states.RESIZE_PREP)
        except exception.UnexpectedDeletingTaskStateError:
            raise
        except exception.UnexpectedTaskStateError:
            LOG.info('The resize was taken back before it arrived here.',
                     instance=instance)
            return
        with self._manager._error_out_instance_on_exception(
                context, instance, instance_state=instance.vm_state):
            try:
                self._change(context, instance, migration)
            except exception.InstanceNotFound:
                raise
            except Exception as exc:
                LOG.warning('Not resized in place: %s', exc,
                            instance=instance)
                raise exception.InstanceFaultRollback(exc) from None
            finally:
                self._end_task(instance)

    def _end_task(self, instance: objects.Instance) -> None:
        # From Nova 34 on, a service that shuts down waits for such tasks.
        end = getattr(self._manager, '_end_pending_dest_resize_task', None)
        if end is not None:
            end(instance.uuid)

    def _change(self, context: nova_context.RequestContext, instance: objects.Instance,
                migration: objects.Migration) -> None:
        manager = self._manager
        bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
            context, instance.uuid)
        network_info = instance.get_network_info()
        manager._send_resize_instance_notifications(
            context, instance, bdms, network_info, _START)
        old, new = in_place.before(instance), in_place.after(instance)
        self._share_out(context, instance, migration, new, max(
            old.reservation.share - new.reservation.share, 0))
        manager.driver.change_reservation(instance, new)
        manager._send_resize_instance_notifications(
            context, instance, bdms, network_info, _END)
        migration.status = 'finished'
        migration.save()
        instance.old_flavor = instance.flavor
        manager._set_instance_info(instance, instance.new_flavor)
        instance.vm_state = vm_states.RESIZED
        instance.task_state = None
        instance.launched_at = timeutils.utcnow()
        instance.save(expected_task_state=task_states.RESIZE_FINISH)
        LOG.info('Resized in place.', instance=instance)
        for phase in (_START, _END):
            manager._send_finish_resize_notifications(
                context, instance, bdms, network_info, phase)

    def undo(self, context: nova_context.RequestContext, instance: objects.Instance,
             migration: objects.Migration) -> None:
        """Take back a resize that failed; what cannot be, :meth:`undo_left` does."""
        try:
            self._undo(context, instance, migration)
        except Exception:
            self._left.add(instance.uuid)
            raise

    def undo_left(self, context: nova_context.RequestContext) -> None:
        """Do what could not be done when resizes and reverts failed, or at start."""
        for end, servers in ((self._undo_later, self._left), (self._give_later, self._lacking),
                             (self._finish_later, self._locked)):
            for server in sorted(servers):
                try:
                    end(context, server)
                except Exception as exc:
                    LOG.warning('The failed resize of server %s cannot be ended yet: %s',
                                server, exc)

    def _give_later(self, context: nova_context.RequestContext, server: str) -> None:
        with contextlib.suppress(exception.InstanceNotFound):
            instance = holdings.fetch(context, server)
            if instance.task_state is not None:
                return
            holding = holdings.holding_of(instance)
            if holding is not None and instance.host == self._manager.host:
                self._manager.driver.change_reservation(instance, holding)
        self._lacking.discard(server)

    def _undo_later(self, context: nova_context.RequestContext, server: str) -> None:
        with contextlib.suppress(exception.InstanceNotFound,
                                 exception.UnexpectedTaskStateError):
            instance = objects.Instance.get_by_uuid(context, server, list(moves.ATTRIBUTES))
            if self._is_left(context, instance):
                instance.task_state = task_states.RESIZE_PREP
                instance.save(expected_task_state=[None])
                self._undo_locked(context, instance)
                self._tracker.settle(context, instance)
        self._left.discard(server)

    def _is_left(self, context: nova_context.RequestContext,
                 instance: objects.Instance) -> bool:
        """Return whether nothing has happened to a server since its resize failed."""
        return (self._is_resized(instance) and instance.task_state is None
                and _migration_of(context, instance).status != 'finished')

    def _is_resized(self, instance: objects.Instance) -> bool:
        """Return whether a server is here, and is being resized in place."""
        return (instance.host == self._manager.host and in_place.begun(instance)
                and not in_place.by_hint(instance) and not in_place.by_move(instance)
                and instance.migration_context is not None)

    def _finish_later(self, context: nova_context.RequestContext, server: str) -> None:
        with contextlib.suppress(exception.InstanceNotFound):
            instance = objects.Instance.get_by_uuid(context, server, list(moves.ATTRIBUTES))
            # An operator who has reset the state may have had it resized anew.
            if (self._is_resized(instance) and instance.task_state is not None
                    and _migration_of(context, instance).id == self._locked[server]):
                self.finish_interrupted(context, instance)
                self._tracker.settle(context, instance)
        self._locked.pop(server, None)

    def _undo_locked(self, context: nova_context.RequestContext,
                     instance: objects.Instance) -> None:
        try:
            self._undo(context, instance, _migration_of(context, instance))
        except Exception:
            instance.task_state = None
            instance.save(expected_task_state=[task_states.RESIZE_PREP])
            raise

    def _undo(self, context: nova_context.RequestContext, instance: objects.Instance,
              migration: objects.Migration) -> None:
        flavor = instance.new_flavor
        self._give_back(context, instance, migration)
        self._record_undone(instance, migration, 'error')
        self._tracker.end_in_place(context, instance, flavor)

    def revert(self, context: nova_context.RequestContext, instance: objects.Instance,
               migration: objects.Migration) -> None:
        """Give a server back what it had; it goes on running.

        :raises InstanceFaultRollback: if that is refused: it then keeps the
            new reservation
        """
        flavor = instance.new_flavor
        with self._manager._error_out_instance_on_exception(
                context, instance, instance_state=vm_states.RESIZED):
            self._notify_of_revert(context, instance, _START)
            try:
                self._give_back(context, instance, migration)
            except Exception as exc:
                self._keep(instance)
                migration.status = 'finished'
                migration.save()
                raise exception.InstanceFaultRollback(exc) from None
            self._record_undone(instance, migration, 'reverted')
        self._tracker.end_in_place(context, instance, flavor)
        self._notify_of_revert(context, instance, _END)

    def _keep(self, instance: objects.Instance) -> None:
        """Give a server the new reservation again, as far as that is possible now."""
        self.give(instance, in_place.after(instance))

    def give(self, instance: objects.Instance, holding: ledger.Holding) -> None:
        """Give a server in the kernel what it holds; what cannot be, :meth:`undo_left` gives."""
        try:
            self._manager.driver.change_reservation(instance, holding)
        except Exception as exc:
            LOG.warning('It may have its former reservation for now: %s', exc, instance=instance)
            self._lacking.add(instance.uuid)

    def _notify_of_revert(self, context: nova_context.RequestContext, instance: objects.Instance,
                          phase: str) -> None:
        bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
            context, instance.uuid)
        self._manager._notify_about_instance_usage(
            context, instance, f'resize.revert.{phase}')
        compute_utils.notify_about_instance_action(
            context, instance, self._manager.host,
            action=fields.NotificationAction.RESIZE_REVERT, phase=phase,
            bdms=bdms)

    def _give_back(self, context: nova_context.RequestContext, instance: objects.Instance,
                   migration: objects.Migration) -> None:
        """Give a server what it had, in the kernel and in Placement."""
        old = in_place.before(instance)
        self._manager.driver.change_reservation(instance, old)
        self._share_out(context, instance, migration, old, 0)

    def _share_out(self, context: nova_context.RequestContext, instance: objects.Instance,
                   migration: objects.Migration, holding: ledger.Holding, kept: int) -> None:
        placement = allocations.PlacementClient(
            context.elevated(), self._manager.reportclient)
        placement.share_out(
            provider_of(instance), instance.uuid, holding.reservation.share,
            migration.uuid, kept)

    def _record_undone(self, instance: objects.Instance, migration: objects.Migration,
                       status: str) -> None:
        """Have Nova say that the server has what it had."""
        migration.status = status
        migration.save()
        # Nova saves the flavor before the rest: it may be the only thing that is new.
        if instance.old_flavor is not None:
            self._manager._set_instance_info(instance, instance.old_flavor)
        instance.vm_state = instance.system_metadata.get(
            'old_vm_state', vm_states.ACTIVE)
        instance.task_state = None
        try:
            instance.save(expected_task_state=list(_INTERRUPTED))
        except exception.UnexpectedDeletingTaskStateError:
            LOG.info('It is being deleted.', instance=instance)
            return
        self._manager._delete_stashed_flavor_info(instance)
        instance.drop_migration_context()

    def finish_interrupted(self, context: nova_context.RequestContext,
                           instance: objects.Instance) -> None:
        """Confirm, revert or undo a resize that was interrupted.

        What cannot be given back, :meth:`undo_left` gives back.
        """
        if instance.task_state not in _INTERRUPTED:
            return
        migration = _migration_of(context, instance)
        if migration.status in interrupted_moves.CONFIRMATION:
            interrupted_moves.finish(self._manager, context, instance, migration)
        elif instance.task_state == task_states.RESIZE_REVERTING:
            self._end_interrupted(context, instance, migration, 'reverted')
        elif (instance.task_state is not None or migration.status != 'finished'
              or instance.old_flavor is None):
            self._end_interrupted(context, instance, migration, 'error')
        else:
            # A revert that failed may have taken it away.
            self._keep(instance)
            if instance.vm_state in (vm_states.ACTIVE, vm_states.STOPPED):
                # Reset meanwhile, as by an evacuation that found no host.
                instance.vm_state = vm_states.RESIZED
                instance.save(expected_task_state=None)

    def _end_interrupted(self, context: nova_context.RequestContext, instance: objects.Instance,
                         migration: objects.Migration, status: str) -> None:
        locked = instance.task_state is not None
        try:
            self._give_back(context, instance, migration)
            self._record_undone(instance, migration, status)
        except Exception:
            if locked:
                self._locked[instance.uuid] = migration.id
            else:
                self._left.add(instance.uuid)
            raise

    def undo_unclaimed(self, context: nova_context.RequestContext, node: str) -> None:
        """Undo resizes that were interrupted before their claim.

        At start, Nova forgets that a server was about to be resized, but not
        what Placement has allocated for it; in place, that may be less than
        the server has.
        """
        host = self._manager.host
        for migration in objects.MigrationList \
                .get_in_progress_by_host_and_node(context, host, node):
            if (migration.status != 'pre-migrating'
                    or migration.migration_type not in _MOVES
                    or migration.source_compute != host):
                continue
            try:
                instance = objects.Instance.get_by_uuid(
                    context, migration.instance_uuid, list(moves.ATTRIBUTES))
            except exception.InstanceNotFound:
                continue
            if instance.host == host and instance.task_state is None \
                    and not in_place.begun(instance):
                with logged(instance):
                    self._manager._revert_allocation(context, instance, migration)
                    migration.status = 'error'
                    migration.save()


def _migration_of(context: nova_context.RequestContext,
                  instance: objects.Instance) -> objects.Migration:
    """Return what resizes a server in place; only a confirmation forgets which that was."""
    move = instance.migration_context
    if move is not None:
        return objects.Migration.get_by_id(context, move.migration_id)
    # Not a later one, which may wait for the service already.
    return max(objects.MigrationList.get_by_filters(
        context, {'instance_uuid': instance.uuid, 'status': 'confirmed'}),
        key=lambda migration: migration.id)


def provider_of(instance: objects.Instance) -> str:
    """Return the resource provider of the host that a server is on."""
    return objects.ComputeNode.get_by_host_and_nodename(
        nova_context.get_admin_context(), instance.host, instance.node).uuid


@contextlib.contextmanager
def logged(instance: objects.Instance) -> Iterator[None]:
    """Go on with the next server if one cannot be put in order."""
    try:
        yield
    except Exception:
        LOG.exception('What was interrupted could not be undone: unless it is within '
                      'minutes, start the service again.', instance=instance)
