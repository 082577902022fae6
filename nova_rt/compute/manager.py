# SPDX-License-Identifier: Apache-2.0
"""The compute manager: where a request's hints meet its flavor."""

from nova import exception
import oslo_messaging

from nova_rt import allocations
from nova_rt import reservation
from nova_rt.compute import evacuation
from nova_rt.compute import reservation_change
from nova_rt.compute import resource_tracker
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.virt import host


class RTComputeManager(reservation_change.HintManager):
    """Nova's compute manager with reservations.

    :raises UnavailableError: if the driver knows nothing of reservations
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if not hasattr(self.driver, 'reservations'):
            raise host.UnavailableError(
                f'The driver {type(self.driver).__name__} knows nothing of '
                'reservations: remove compute_driver from nova.conf.')
        self.rt = resource_tracker.RTResourceTracker(
            self.host, self.driver, reportclient=self.reportclient)

    def _do_build_and_run_instance(
            self, context, instance, image, request_spec, filter_properties,
            admin_password, injected_files, requested_networks,
            security_groups, block_device_mapping, node=None, limits=None,
            host_list=None, accel_uuids=None):
        """Leave the reason of a failure on a server that no other host takes.

        Without retry information Nova notes the failure itself as the fault;
        with it, and no alternate left, "no more hosts" would cover it.
        """
        return super()._do_build_and_run_instance(
            context, instance, image, request_spec,
            _without_retry(filter_properties, host_list), admin_password,
            injected_files, requested_networks, security_groups,
            block_device_mapping, node, limits, host_list, accel_uuids)

    def _build_and_run_instance(
            self, context, instance, image, injected_files, admin_password,
            requested_networks, security_groups, block_device_mapping, node,
            limits, filter_properties, request_spec=None, accel_uuids=None):
        try:
            instance.flavor = flavors.merged(instance.flavor, request_spec)
        except reservation.InvalidReservationError as why:
            raise exception.BuildAbortException(
                instance_uuid=instance.uuid, reason=str(why)) from None
        super()._build_and_run_instance(
            context, instance, image, injected_files, admin_password,
            requested_networks, security_groups, block_device_mapping, node,
            limits, filter_properties, request_spec, accel_uuids)

    def _prep_resize(self, context, image, instance, flavor,
                     filter_properties, node, migration, request_spec,
                     clean_shutdown=True):
        """See base class; a server whose claim fails stays as it was."""
        try:
            flavor = flavors.merged(flavor, request_spec)
            super()._prep_resize(
                context, image, instance, flavor, filter_properties, node,
                migration, request_spec, clean_shutdown)
        except reservation.InvalidReservationError as why:
            raise exception.InstanceFaultRollback(
                exception.ResizeError(reason=str(why))) from None
        except exception.ComputeResourcesUnavailable as why:
            raise exception.InstanceFaultRollback(why) from None

    def _reschedule_resize_or_reraise(
            self, context, instance, exc_info, flavor, request_spec,
            filter_properties, host_list):
        """Leave the reason of a failure if there is no other host to try."""
        super()._reschedule_resize_or_reraise(
            context, instance, exc_info, flavor, request_spec,
            _without_retry(filter_properties, host_list), host_list)

    def rebuild_instance(
            self, context, instance, orig_image_ref, image_ref,
            injected_files, new_pass, orig_sys_metadata, bdms, recreate,
            on_shared_storage, preserve_ephemeral, migration, scheduled_node,
            limits, request_spec, accel_uuids, reimage_boot_volume=None,
            target_state=None):
        """See base class; an evacuation whose claim fails goes elsewhere.

        Nova gives an evacuation no alternates. Many servers that leave a host
        at once are all sent by what the scheduler saw before any of them
        arrived, so some come too late, with room elsewhere.
        """
        try:
            return super().rebuild_instance(
                context, instance, orig_image_ref, image_ref, injected_files,
                new_pass, orig_sys_metadata, bdms, recreate,
                on_shared_storage, preserve_ephemeral, migration,
                scheduled_node, limits, request_spec, accel_uuids,
                reimage_boot_volume, target_state)
        except oslo_messaging.ExpectedException as why:
            # So Nova's decorator wraps it.
            aborted = isinstance(
                why.exc_info[1], exception.BuildAbortException)
            if not (aborted and recreate
                    and evacuation.may_go_elsewhere(request_spec)):
                raise
            evacuation.begin_again(
                context.elevated(), self.compute_task_api, instance,
                request_spec, new_pass=new_pass, target_state=target_state,
                on_shared_storage=on_shared_storage,
                preserve_ephemeral=preserve_ephemeral)

    def _finish_resize(self, context, instance, migration, *args, **kwargs):
        """Switch the pCPUs in the same save that switches the flavor."""
        holdings.switch_side(instance, holdings.NEW)
        try:
            return super()._finish_resize(
                context, instance, migration, *args, **kwargs)
        except Exception:
            self.rt.hold_where_left(instance, migration.dest_node)
            holding = holdings.holding_of(instance)
            allocations.try_to_set_share(
                context.elevated(), self.reportclient, instance.uuid,
                self.rt.compute_nodes[migration.dest_node].uuid,
                holding.reservation.share if holding else 0)
            raise

    def _revert_instance_flavor_host_node(self, instance, migration):
        """Switch the pCPUs in the same save that switches host and flavor."""
        holdings.switch_side(instance, holdings.OLD)
        super()._revert_instance_flavor_host_node(instance, migration)

    def _nil_out_instance_obj_host_and_node(self, instance):
        """A server on no host holds no pCPUs; saved with what follows."""
        super()._nil_out_instance_obj_host_and_node(instance)
        holdings.set_pcpus(instance, None)

    def _delete_stashed_flavor_info(self, instance):
        """Forget both sides of a move in the save that ends it."""
        holdings.end_move(instance)
        super()._delete_stashed_flavor_info(instance)


def _without_retry(filter_properties, host_list):
    """Return the properties without retry information if no host is left."""
    properties = dict(filter_properties or {})
    if host_list is not None and not host_list:
        properties.pop('retry', None)
    return properties
