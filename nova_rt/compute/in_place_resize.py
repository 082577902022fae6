# SPDX-License-Identifier: Apache-2.0
"""The compute manager's part that changes reservations in place.

Nova's instance is the journal. What was, what will be and that it is changed
in place are saved with it before anything is changed, and in one save it has
the new reservation, or the old one again. What was interrupted is finished or
taken back when the service starts.
"""

import contextlib

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import manager
from nova.compute import task_states
from nova.compute import utils as compute_utils
from nova.compute import vm_states
from nova.objects import fields
from oslo_log import log as logging
from oslo_utils import timeutils

from nova_rt import allocations
from nova_rt.instance import holdings
from nova_rt.instance import in_place

LOG = logging.getLogger(__name__)

_ATTRIBUTES = ['system_metadata', 'flavor', 'migration_context']
# Nova itself forgets the first at start.
_INTERRUPTED = (None, *task_states.resizing_states,
                task_states.RESIZE_REVERTING)
_MOVES = (fields.MigrationType.RESIZE, fields.MigrationType.MIGRATION)
_START = fields.NotificationPhase.START
_END = fields.NotificationPhase.END


class InPlaceManager(manager.ComputeManager):
    """Nova's compute manager, which changes reservations without a restart.

    The driver must have a method ``change_reservation(instance, holding)``.
    """

    def _resize_instance(self, context, instance, image, migration, flavor,
                         clean_shutdown, request_spec):
        """See base class; a server that is changed in place goes on running.

        Nothing but its budget is touched: no disk, volume, port or domain.
        """
        if not in_place.begun(instance):
            return super()._resize_instance(
                context, instance, image, migration, flavor, clean_shutdown,
                request_spec)
        instance.task_state = task_states.RESIZE_FINISH
        try:
            instance.save(expected_task_state=task_states.RESIZE_PREP)
        except exception.UnexpectedDeletingTaskStateError:
            raise
        except exception.UnexpectedTaskStateError:
            LOG.info('The resize was taken back before it came here.',
                     instance=instance)
            return None
        with self._error_out_instance_on_exception(
                context, instance, instance_state=instance.vm_state):
            try:
                self._change_in_place(context, instance, migration)
            except exception.InstanceNotFound:
                raise
            except Exception as why:
                LOG.warning('Not resized in place: %s', why,
                            instance=instance)
                raise exception.InstanceFaultRollback(why) from None
            finally:
                self._end_task(instance)
        return None

    def _end_task(self, instance):
        # From Nova 34 on, a service that shuts down waits for such tasks.
        end = getattr(self, '_end_pending_dest_resize_task', None)
        if end is not None:
            end(instance.uuid)

    def _change_in_place(self, context, instance, migration):
        bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
            context, instance.uuid)
        network_info = instance.get_network_info()
        self._send_resize_instance_notifications(
            context, instance, bdms, network_info, _START)
        old = in_place.side(instance, holdings.OLD)
        new = in_place.side(instance, holdings.NEW)
        allocations.share_out(
            context.elevated(), self.reportclient, self.provider_of(instance),
            instance.uuid, new.reservation.share, migration.uuid,
            max(old.reservation.share - new.reservation.share, 0))
        self.driver.change_reservation(instance, new)
        self._send_resize_instance_notifications(
            context, instance, bdms, network_info, _END)
        migration.status = 'finished'
        migration.save()
        instance.old_flavor = instance.flavor
        self._set_instance_info(instance, instance.new_flavor)
        instance.vm_state = vm_states.RESIZED
        instance.task_state = None
        instance.launched_at = timeutils.utcnow()
        instance.save(expected_task_state=task_states.RESIZE_FINISH)
        LOG.info('Resized in place.', instance=instance)
        for phase in (_START, _END):
            self._send_finish_resize_notifications(
                context, instance, bdms, network_info, phase)

    def _revert_allocation(self, context, instance, migration):
        """See base class; a change in place that failed is taken back."""
        if not in_place.begun(instance):
            return super()._revert_allocation(context, instance, migration)
        flavor = instance.new_flavor
        self._give_back(context, instance, migration)
        self._note_taken_back(instance, migration, 'error')
        self.rt.end_in_place(context, instance, flavor)
        return None

    def confirm_resize(self, context, instance, migration):
        """See base class; not again what was confirmed as the service started.

        The message that asks for it may have waited for the service.
        """
        if in_place.begun(instance):
            migration = objects.Migration.get_by_id(context, migration.id)
        super().confirm_resize(context, instance, migration)

    def revert_resize(self, context, instance, migration, request_spec):
        """See base class; in place, the container goes on running."""
        if in_place.begun(instance):
            self._revert_in_place(context, instance, migration)
        else:
            super().revert_resize(context, instance, migration, request_spec)

    @manager.wrap_exception()
    @manager.reverts_task_state
    @manager.wrap_instance_event(prefix='compute')
    @manager.wrap_instance_fault
    def _revert_in_place(self, context, instance, migration):
        """Give a server back what it had; if that is refused, it stays."""
        flavor = instance.new_flavor
        with self._error_out_instance_on_exception(
                context, instance, instance_state=vm_states.RESIZED):
            self._notify_of_revert(context, instance, _START)
            try:
                self._give_back(context, instance, migration)
            except Exception as why:
                self.driver.change_reservation(
                    instance, in_place.side(instance, holdings.NEW))
                migration.status = 'finished'
                migration.save()
                raise exception.InstanceFaultRollback(why) from None
            self._note_taken_back(instance, migration, 'reverted')
        self.rt.end_in_place(context, instance, flavor)
        self._notify_of_revert(context, instance, _END)

    def _notify_of_revert(self, context, instance, phase):
        bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
            context, instance.uuid)
        self._notify_about_instance_usage(
            context, instance, f'resize.revert.{phase}')
        compute_utils.notify_about_instance_action(
            context, instance, self.host,
            action=fields.NotificationAction.RESIZE_REVERT, phase=phase,
            bdms=bdms)

    def _give_back(self, context, instance, migration):
        """Give a server what it had, in the kernel and in Placement."""
        old = in_place.side(instance, holdings.OLD)
        self.driver.change_reservation(instance, old)
        allocations.share_out(
            context.elevated(), self.reportclient, self.provider_of(instance),
            instance.uuid, old.reservation.share, migration.uuid, 0)

    def _note_taken_back(self, instance, migration, status):
        """Have Nova say that the server has what it had."""
        migration.status = status
        migration.save()
        if instance.instance_type_id != migration.old_instance_type_id:
            self._set_instance_info(instance, instance.old_flavor)
        instance.vm_state = instance.system_metadata.get(
            'old_vm_state', vm_states.ACTIVE)
        instance.task_state = None
        try:
            instance.save(expected_task_state=list(_INTERRUPTED))
        except exception.UnexpectedDeletingTaskStateError:
            LOG.info('It is being deleted.', instance=instance)
            return
        self._delete_stashed_flavor_info(instance)
        instance.drop_migration_context()

    def provider_of(self, instance):
        """Return the resource provider of the host that a server is on."""
        return objects.ComputeNode.get_by_host_and_nodename(
            nova_context.get_admin_context(), instance.host,
            instance.node).uuid

    # What was interrupted

    def pre_start_hook(self, service_ref):
        """See base class; then each change in place is done or undone."""
        super().pre_start_hook(service_ref)
        context = nova_context.get_admin_context()
        begun = [instance for instance in objects.InstanceList.get_by_host(
                     context, self.host, expected_attrs=_ATTRIBUTES)
                 if in_place.begun(instance)]
        for instance in begun:
            with _logged(instance):
                self.finish_interrupted(context, instance)
        for node in list(self.rt.compute_nodes):
            self._take_back_unclaimed(context, node)
        if begun:
            self.update_available_resource(context)

    def _take_back_unclaimed(self, context, node):
        """Give servers back what their migrations took from them.

        Nova forgets at start that a server was about to be resized, but not what
        Placement has promised for it; in place, that may be less than the server
        has.
        """
        for migration in objects.MigrationList \
                .get_in_progress_by_host_and_node(context, self.host, node):
            if (migration.status != 'pre-migrating'
                    or migration.migration_type not in _MOVES
                    or migration.source_compute != self.host):
                continue
            try:
                instance = objects.Instance.get_by_uuid(
                    context, migration.instance_uuid, _ATTRIBUTES)
            except exception.InstanceNotFound:
                continue
            if instance.host == self.host and instance.task_state is None \
                    and not in_place.begun(instance):
                with _logged(instance):
                    self._revert_allocation(context, instance, migration)
                    migration.status = 'error'
                    migration.save()

    def finish_interrupted(self, context, instance):
        """Confirm, revert or undo a resize in place that was interrupted."""
        of_move = instance.migration_context
        if of_move is None or instance.task_state not in _INTERRUPTED:
            return
        migration = objects.Migration.get_by_id(context, of_move.migration_id)
        if migration.status == 'confirming':
            self.confirm_resize(context, instance, migration)
        elif instance.task_state == task_states.RESIZE_REVERTING:
            self._give_back(context, instance, migration)
            self._note_taken_back(instance, migration, 'reverted')
        elif instance.task_state is not None or migration.status != 'finished':
            self._give_back(context, instance, migration)
            self._note_taken_back(instance, migration, 'error')


@contextlib.contextmanager
def _logged(instance):
    """Go on with the next server if this one cannot be put in order."""
    try:
        yield
    except Exception:
        LOG.exception('What was interrupted could not be taken back: start '
                      'the service again.', instance=instance)
