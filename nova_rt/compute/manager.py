# SPDX-License-Identifier: Apache-2.0
"""The compute manager: where a request's hints meet its flavor."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
from typing import Any

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import manager
import oslo_messaging
from oslo_service import periodic_task

from nova_rt import allocations
from nova_rt import errors
from nova_rt import reservation
from nova_rt.compute import deletion
from nova_rt.compute import departures
from nova_rt.compute import evacuation
from nova_rt.compute import evictions
from nova_rt.compute import in_place_resize
from nova_rt.compute import interruptions
from nova_rt.compute import live_migration
from nova_rt.compute import reactions
from nova_rt.compute import reservation_change
from nova_rt.compute import resource_tracker
from nova_rt.instance import eviction
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place


class UnfitDriverError(errors.NovaRTError):
    """The compute driver does not support reservations."""


class RTComputeManager(manager.ComputeManager):
    """Nova's compute manager with reservations.

    What it overrides of Nova is here; what it does for a change in place is in
    its collaborators.

    :raises UnfitDriverError: if the driver does not support reservations
    """

    rt: resource_tracker.RTResourceTracker
    # Live migrations from here.
    _interrupted: list[tuple[objects.Instance, objects.Migration]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._interrupted = []
        if not hasattr(self.driver, 'reservations'):
            raise UnfitDriverError(
                f'The driver {type(self.driver).__name__} does not support '
                'reservations: remove compute_driver from nova.conf.')
        self.rt = resource_tracker.RTResourceTracker(
            self.host, self.driver, reportclient=self.reportclient)
        self.in_place_resize = in_place_resize.InPlaceResize(self, self.rt)
        self.reservation_change = reservation_change.ReservationChange(
            self, self.rt)
        self.evictions = evictions.Evictions(self, self.rt)
        self._reactions: reactions.Reactions | None = None

    # Builds

    def _do_build_and_run_instance(
            self, context: nova_context.RequestContext, instance: objects.Instance, image: Any,
            request_spec: objects.RequestSpec | None, filter_properties: Mapping[str, Any] | None,
            admin_password: Any, injected_files: Any, requested_networks: Any, security_groups: Any,
            block_device_mapping: Any, node: Any = None, limits: Any = None,
            host_list: Sequence[Any] | None = None, accel_uuids: Any = None) -> Any:
        """Keep the reason of a failure on a server that no other host takes.

        Without retry information Nova records the failure itself as the fault;
        with it, and no alternate left, "no more hosts" would replace it.
        """
        return super()._do_build_and_run_instance(
            context, instance, image, request_spec,
            _without_retry(filter_properties, host_list), admin_password,
            injected_files, requested_networks, security_groups,
            block_device_mapping, node, limits, host_list, accel_uuids)

    def _build_and_run_instance(
            self, context: nova_context.RequestContext, instance: objects.Instance, image: Any,
            injected_files: Any, admin_password: Any, requested_networks: Any, security_groups: Any,
            block_device_mapping: Any, node: Any, limits: Any, filter_properties: Any,
            request_spec: objects.RequestSpec | None = None, accel_uuids: Any = None) -> None:
        try:
            instance.flavor = flavors.merged(instance.flavor, request_spec)
        except reservation.InvalidReservationError as exc:
            raise exception.BuildAbortException(
                instance_uuid=instance.uuid, reason=str(exc)) from None
        super()._build_and_run_instance(
            context, instance, image, injected_files, admin_password,
            requested_networks, security_groups, block_device_mapping, node,
            limits, filter_properties, request_spec, accel_uuids)

    def rebuild_instance(self, context: nova_context.RequestContext, instance: objects.Instance,
                         orig_image_ref: Any, image_ref: Any, injected_files: Any, new_pass: Any,
                         orig_sys_metadata: Any, bdms: Any, recreate: bool, on_shared_storage: Any,
                         preserve_ephemeral: Any, migration: Any, scheduled_node: Any, limits: Any,
                         request_spec: objects.RequestSpec | None, accel_uuids: Any,
                         reimage_boot_volume: Any = None, target_state: Any = None) -> Any:
        """See base class; an evacuation whose claim fails goes elsewhere.

        Nova gives an evacuation no alternates. Many servers that leave a host
        at once are all placed by what the scheduler saw before any of them
        arrived, so some come too late although there is room elsewhere.
        """
        try:
            return super().rebuild_instance(
                context, instance, orig_image_ref, image_ref, injected_files,
                new_pass, orig_sys_metadata, bdms, recreate,
                on_shared_storage, preserve_ephemeral, migration,
                scheduled_node, limits, request_spec, accel_uuids,
                reimage_boot_volume, target_state)
        except oslo_messaging.ExpectedException as exc:
            # Nova's decorator wraps the failure of a claim in it.
            aborted = isinstance(
                exc.exc_info[1], exception.BuildAbortException)
            if not (aborted and recreate and request_spec is not None
                    and evacuation.may_go_elsewhere(request_spec)):
                raise
            evacuation.begin_again(
                context.elevated(), self.compute_task_api, instance,
                request_spec, new_pass=new_pass, target_state=target_state,
                on_shared_storage=on_shared_storage,
                preserve_ephemeral=preserve_ephemeral)

    # Resizes and migrations

    def _prep_resize(self, context: nova_context.RequestContext, image: Any,
                     instance: objects.Instance, flavor: objects.Flavor, filter_properties: Any,
                     node: Any, migration: Any, request_spec: objects.RequestSpec | None,
                     clean_shutdown: bool = True) -> None:
        """See base class; a server whose claim fails stays as it was."""
        try:
            flavor = flavors.merged(flavor, request_spec)
            super()._prep_resize(
                context, image, instance, flavor, filter_properties, node,
                migration, request_spec, clean_shutdown)
        except reservation.InvalidReservationError as exc:
            raise exception.InstanceFaultRollback(
                exception.ResizeError(reason=str(exc))) from None
        except exception.ComputeResourcesUnavailable as exc:
            raise exception.InstanceFaultRollback(exc) from None

    def _reschedule_resize_or_reraise(
            self, context: nova_context.RequestContext, instance: objects.Instance, exc_info: Any,
            flavor: Any, request_spec: Any, filter_properties: Mapping[str, Any] | None,
            host_list: Sequence[Any] | None) -> None:
        """Keep the reason of a failure if there is no other host to try."""
        super()._reschedule_resize_or_reraise(
            context, instance, exc_info, flavor, request_spec,
            _without_retry(filter_properties, host_list), host_list)

    def _resize_instance(self, context: nova_context.RequestContext, instance: objects.Instance,
                         image: Any, migration: objects.Migration, flavor: Any, clean_shutdown: Any,
                         request_spec: Any) -> None:
        """See base class; a server that is changed in place goes on running."""
        if in_place.begun(instance):
            self.in_place_resize.resize(context, instance, migration)
            return
        with departures.watched(context, instance):
            super()._resize_instance(
                context, instance, image, migration, flavor, clean_shutdown, request_spec)

    def _finish_resize(self, context: nova_context.RequestContext, instance: objects.Instance,
                       migration: objects.Migration, *args: Any, **kwargs: Any) -> Any:
        """Switch the pCPUs in the same save that switches the flavor."""
        departures.arrive(instance)
        try:
            return super()._finish_resize(
                context, instance, migration, *args, **kwargs)
        except Exception:
            self.rt.hold_where_left(instance, migration.dest_node)
            holding = holdings.holding_of(instance)
            self._placement(context).try_to_set_share(
                instance.uuid, self.rt.compute_nodes[migration.dest_node].uuid,
                holding.reservation.share if holding else 0)
            raise

    def confirm_resize(self, context: nova_context.RequestContext, instance: objects.Instance,
                       migration: objects.Migration) -> None:
        """See base class; not again what was confirmed when the service started.

        The message that asks for it may have waited for the service.
        """
        if in_place.begun(instance):
            migration = objects.Migration.get_by_id(context, migration.id)
        super().confirm_resize(context, instance, migration)

    def revert_resize(self, context: nova_context.RequestContext, instance: objects.Instance,
                      migration: objects.Migration,
                      request_spec: objects.RequestSpec | None) -> None:
        """See base class; in place, the container goes on running."""
        if in_place.begun(instance):
            self._revert_in_place(context, instance, migration)
        else:
            super().revert_resize(context, instance, migration, request_spec)

    @manager.wrap_exception()
    @manager.reverts_task_state
    @manager.wrap_instance_event(prefix='compute')
    @manager.wrap_instance_fault
    def _revert_in_place(self, context: nova_context.RequestContext, instance: objects.Instance,
                         migration: objects.Migration) -> None:
        self.in_place_resize.revert(context, instance, migration)

    def _revert_allocation(self, context: nova_context.RequestContext, instance: objects.Instance,
                           migration: objects.Migration) -> Any:
        """See base class; a change in place that failed is undone.

        A server that has left keeps what is allocated where it is, as if its start had failed.
        """
        if in_place.begun(instance):
            self.in_place_resize.undo(context, instance, migration)
        elif departures.has_left(instance, migration):
            self._delete_allocation_after_move(context, instance, migration)
        else:
            return super()._revert_allocation(context, instance, migration)
        return None

    # Live migrations

    def pre_live_migration(self, context: nova_context.RequestContext,
                           instance: objects.Instance, disk: Any, migrate_data: Any) -> Any:
        """See base class; only what was claimed here is prepared."""
        live_migration.check_claim(context, instance, migrate_data, self.host)
        return super().pre_live_migration(context, instance, disk, migrate_data)

    def _post_live_migration_update_host(
            self, ctxt: nova_context.RequestContext, instance: objects.Instance, dest: str,
            block_migration: Any = False, migrate_data: Any = None,
            source_bdms: Any = None) -> None:
        """See base class; the source knows the new pCPUs if the destination is silent."""
        left = live_migration.has_left(ctxt, instance)
        try:
            super()._post_live_migration_update_host(
                ctxt, instance, dest, block_migration, migrate_data, source_bdms)
        except Exception:
            if left:
                # Nova has saved that the server is at its destination.
                holdings.end_move(instance)
                instance.save()
                with contextlib.suppress(exception.AllocationDeleteFailed):
                    self._delete_allocation_after_move(ctxt, instance, migrate_data.migration)
            raise

    def post_live_migration_at_destination(
            self, context: nova_context.RequestContext, instance: objects.Instance,
            block_migration: Any) -> None:
        """Switch the pCPUs in the same save that switches the host."""
        holdings.end_move(instance)
        super().post_live_migration_at_destination(context, instance, block_migration)
        self.rt.settle(context, instance)

    def _rollback_live_migration(
            self, context: nova_context.RequestContext, instance: objects.Instance, dest: str,
            *args: Any, **kwargs: Any) -> None:
        """See base class; neither side of the move is held any more."""
        live_migration.has_stayed(context, instance)
        super()._rollback_live_migration(context, instance, dest, *args, **kwargs)

    def _reset_live_migration(self, context: nova_context.RequestContext,
                              instance: objects.Instance) -> None:
        """See base class; it is ended when the tracker knows this host."""
        migration = live_migration.interrupted(context, instance)
        super()._reset_live_migration(context, instance)
        if migration is not None:
            self._interrupted.append((instance, migration))

    def _complete_deletion(self, context: nova_context.RequestContext,
                           instance: objects.Instance) -> None:
        """See base class; what a move has allocated goes as well."""
        deletion.give_back_moves(self.reportclient, context, instance)
        super()._complete_deletion(context, instance)

    # What is saved with the instance

    def _revert_instance_flavor_host_node(self, instance: objects.Instance,
                                          migration: objects.Migration) -> None:
        """Switch the pCPUs in the same save that switches host and flavor."""
        holdings.switch_side(instance, holdings.OLD)
        super()._revert_instance_flavor_host_node(instance, migration)

    def _nil_out_instance_obj_host_and_node(self, instance: objects.Instance) -> None:
        """A server on no host holds no pCPUs; saved with what follows."""
        super()._nil_out_instance_obj_host_and_node(instance)
        holdings.set_pcpus(instance, None)

    def _delete_stashed_flavor_info(self, instance: objects.Instance) -> None:
        """Forget both sides of a move in the save that ends it."""
        holdings.end_move(instance)
        super()._delete_stashed_flavor_info(instance)

    # Changes without a resize

    # oslo.messaging ships no types.
    @oslo_messaging.expected_exceptions(  # type: ignore[untyped-decorator]
        exception.ResizeError, exception.InternalError)
    def change_reservation(self, context: nova_context.RequestContext, instance: objects.Instance,
                           runtime_us: int, period_us: int, note: str | None = None) -> None:
        """Give a server another reservation; called by RPC.

        :param note: what is to be saved with it of a server that is shrunk for another

        :raises ResizeError: with the reason, if the server stays as it was
        :raises InternalError: with a sentence, if it is locked until that is undone
        """
        self.reservation_change.change(
            context, instance.uuid, runtime_us, period_us, note)

    # oslo.service ships no types.
    @periodic_task.periodic_task  # type: ignore[untyped-decorator]
    def _undo_changes(self, context: nova_context.RequestContext) -> None:
        """Undo the changes that could not be undone when they failed."""
        self.in_place_resize.undo_left(context)
        self.reservation_change.undo_left(context)

    # oslo.messaging ships no types.
    @oslo_messaging.expected_exceptions(  # type: ignore[untyped-decorator]
        exception.MigrationError, exception.InternalError, exception.InstanceNotFound)
    def move_vcpu(self, context: nova_context.RequestContext, instance: objects.Instance,
                  source: int, target: int) -> None:
        """Move a vCPU of a server to another pCPU of this host; called by RPC.

        :raises MigrationError: with a clause, if the server stays as it was
        :raises InternalError: with a sentence, if it holds both pCPUs for now
        """
        self.rt.move_vcpu(context, instance.uuid, source, target)

    def reservation_usage(self, context: nova_context.RequestContext,
                          instance: objects.Instance) -> list[dict[str, int | None]]:
        """Return what the kernel has given to a server on each pCPU; called by RPC.

        :returns: of each pCPU its number and the fields of :class:`nova_rt.usage.Usage`, with
            those of vCPUs' own; empty unless it runs with a reservation
        """
        return [{'pcpu': pcpu, **dataclasses.asdict(got)}
                for pcpu, got in sorted(self.driver.usage(instance).items())]

    # Servers that are stopped for others

    def stop_instance(self, context: nova_context.RequestContext, instance: objects.Instance,
                      clean_shutdown: bool) -> None:
        """See base class; what was held by one that is stopped for another can be lent.

        Where it could not be stopped, the other may ask for help again, too.
        """
        marked = eviction.mark_of(instance) is not None
        try:
            super().stop_instance(context, instance, clean_shutdown)
        finally:
            misser = self.evictions.made_room() if marked else None
            if misser is not None and self._reactions is not None:
                self._reactions.has_room(misser)

    # oslo.service ships no types.
    @periodic_task.periodic_task  # type: ignore[untyped-decorator]
    def _look_after_evicted(self, context: nova_context.RequestContext) -> None:
        """Start those again whose time has come."""
        self.evictions.look(context)

    # What was interrupted

    def pre_start_hook(self, service_ref: objects.Service) -> None:
        """See base class; what was interrupted is ended."""
        context = nova_context.get_admin_context()
        interruptions.apply_marked(self, self.in_place_resize, context)
        super().pre_start_hook(service_ref)
        interruptions.end(self, self.in_place_resize, self.reservation_change,
                          context, self._interrupted)
        self._reactions = reactions.begin(self.driver, self.rt, self.evictions)

    def cleanup_host(self) -> None:
        """See base class; what is lent is given back."""
        if self._reactions is not None:
            self._reactions.end()
        super().cleanup_host()

    def _placement(self, context: nova_context.RequestContext) -> allocations.PlacementClient:
        return allocations.PlacementClient(
            context.elevated(), self.reportclient)


def _without_retry(filter_properties: Mapping[str, Any] | None,
                   host_list: Sequence[Any] | None) -> dict[str, Any]:
    """Return the properties without retry information if no host is left."""
    properties = dict(filter_properties or {})
    if host_list is not None and not host_list:
        properties.pop('retry', None)
    return properties
