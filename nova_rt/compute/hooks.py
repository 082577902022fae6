# SPDX-License-Identifier: Apache-2.0
"""Puts nova-rt's manager, tracker, claims and driver in place in nova-compute.

Nova has no extension points there. Every name that they override or call is
checked when the service starts.
"""

from __future__ import annotations

import importlib
import sys

from nova import service
from nova import version
from nova.compute import resource_tracker
import nova.conf

from nova_rt import signatures
from nova_rt import virt
from nova_rt.compute import claims
import nova_rt.conf

MANAGER = 'nova_rt.compute.manager.RTComputeManager'
DRIVER = 'nova_rt.driver.RTLibvirtDriver'

# Each name of Nova's that a subclass overrides or calls, with the parameters
# that it has in :data:`nova_rt.signatures.RELEASES`.
EXPECTED = {
    'nova.compute.resource_tracker:claims.Claim._claim_test':
        'self compute_node limits',
    'nova.compute.resource_tracker:claims.MoveClaim.abort':
        'self',
    'nova.compute.manager:ComputeManager._build_and_run_instance':
        'self context instance image injected_files admin_password '
        'requested_networks security_groups block_device_mapping node limits '
        'filter_properties request_spec accel_uuids',
    'nova.compute.manager:ComputeManager._do_build_and_run_instance':
        'self context instance image request_spec filter_properties '
        'admin_password injected_files requested_networks security_groups '
        'block_device_mapping node limits host_list accel_uuids',
    'nova.compute.manager:ComputeManager._prep_resize':
        'self context image instance flavor filter_properties node migration '
        'request_spec clean_shutdown',
    'nova.compute.manager:ComputeManager._reschedule_resize_or_reraise':
        'self context instance exc_info flavor request_spec '
        'filter_properties host_list',
    # The manager's own is decorated; this names the same parameters.
    'nova.compute.rpcapi:ComputeAPI.rebuild_instance':
        'self ctxt instance new_pass injected_files image_ref orig_image_ref '
        'orig_sys_metadata bdms recreate on_shared_storage host node '
        'preserve_ephemeral migration limits request_spec accel_uuids '
        'reimage_boot_volume target_state',
    'nova.conductor.api:ComputeTaskAPI.rebuild_instance':
        'self context instance orig_image_ref image_ref injected_files '
        'new_pass orig_sys_metadata bdms recreate on_shared_storage '
        'preserve_ephemeral host request_spec reimage_boot_volume '
        'target_state',
    'nova.compute.manager:ComputeManager._finish_resize':
        'self context instance migration disk_info image_meta bdms '
        'request_spec',
    'nova.compute.manager:ComputeManager._revert_instance_flavor_host_node':
        'self instance migration',
    'nova.compute.manager:ComputeManager._delete_stashed_flavor_info':
        'self instance',
    'nova.compute.manager:ComputeManager._resize_instance':
        'self context instance image migration flavor clean_shutdown '
        'request_spec',
    'nova.compute.manager:ComputeManager._revert_allocation':
        'self context instance migration',
    'nova.compute.manager:ComputeManager._delete_allocation_after_move':
        'self context instance migration',
    'nova.compute.manager:ComputeManager._post_live_migration_update_host':
        'self ctxt instance dest block_migration migrate_data source_bdms',
    'nova.compute.manager:ComputeManager._complete_deletion':
        'self context instance',
    'nova.scheduler.client.report:SchedulerReportClient'
    '.remove_provider_tree_from_instance_allocation':
        'self context consumer_uuid root_rp_uuid',
    'nova.scheduler.client.report:SchedulerReportClient.delete_allocation_for_instance':
        'self context uuid consumer_type force',
    'nova.compute.manager:ComputeManager._reset_live_migration':
        'self context instance',
    'nova.compute.rpcapi:ComputeAPI.drop_move_claim_at_destination':
        'self ctxt instance host',
    'nova.compute.manager:ComputeManager.post_live_migration_at_destination':
        'self context instance block_migration',
    'nova.compute.manager:ComputeManager.pre_live_migration':
        'self context instance disk migrate_data',
    'nova.compute.manager:ComputeManager._rollback_live_migration':
        'self context instance dest migrate_data migration_status source_bdms '
        'pre_live_migration',
    'nova.compute.manager:ComputeManager.cleanup_host': 'self',
    # The manager's own is decorated; this names what it gets.
    'nova.compute.rpcapi:ComputeAPI.stop_instance': 'self ctxt instance do_cast clean_shutdown',
    'nova.compute.rpcapi:ComputeAPI.start_instance': 'self ctxt instance',
    'nova.compute.api:API.stop': 'self context instance do_cast clean_shutdown',
    'nova.compute.api:API.start': 'self context instance',
    'nova.compute.manager:ComputeManager.pre_start_hook':
        'self service_ref',
    'nova.compute.manager:ComputeManager._set_instance_info':
        'instance flavor',
    'nova.compute.manager:ComputeManager._error_out_instance_on_exception':
        'self context instance instance_state',
    'nova.compute.manager:ComputeManager'
    '._send_resize_instance_notifications':
        'self context instance bdms network_info phase',
    'nova.compute.manager:ComputeManager'
    '._send_finish_resize_notifications':
        'self context instance bdms network_info phase',
    'nova.compute.manager:ComputeManager._notify_about_instance_usage':
        'self context instance event_suffix network_info extra_usage_info '
        'fault best_effort',
    # The manager's own are decorated; these name the same parameters.
    'nova.compute.rpcapi:ComputeAPI.revert_resize':
        'self ctxt instance migration host request_spec',
    'nova.compute.rpcapi:ComputeAPI.confirm_resize':
        'self ctxt instance migration host cast',
    'nova.compute.manager:ComputeManager'
    '._nil_out_instance_obj_host_and_node':
        'self instance',
    'nova.compute.resource_tracker:ResourceTracker._update':
        'self context compute_node startup',
    'nova.compute.resource_tracker:ResourceTracker'
    '._update_usage_from_instance':
        'self context instance nodename is_removed',
    'nova.compute.resource_tracker:ResourceTracker'
    '._update_usage_from_instances':
        'self context instances nodename',
    'nova.compute.resource_tracker:ResourceTracker'
    '._update_usage_from_migration':
        'self context instance migration nodename',
    'nova.compute.resource_tracker:ResourceTracker'
    '._update_usage_from_migrations':
        'self context migrations nodename',
    'nova.compute.resource_tracker:ResourceTracker.instance_claim':
        'self context instance nodename allocations limits',
    'nova.compute.resource_tracker:ResourceTracker._move_claim':
        'self context instance new_flavor nodename migration allocations '
        'move_type image_meta limits',
    'nova.compute.resource_tracker:ResourceTracker._drop_move_claim':
        'self context instance nodename flavor prefix',
    'nova.compute.resource_tracker:ResourceTracker.abort_instance_claim':
        'self context instance nodename',
    'nova.compute.resource_tracker:ResourceTracker.update_usage':
        'self context instance nodename',
    'nova.compute.resource_tracker:ResourceTracker.drop_move_claim_at_dest':
        'self context instance migration',
    'nova.compute.resource_tracker:ResourceTracker.finish_evacuation':
        'self instance node migration',
    'nova.virt.hardware:parse_cpu_spec':
        'spec',
    'nova.virt.libvirt.driver:LibvirtDriver._get_guest_xml':
        'self context instance network_info disk_info image_meta rescue '
        'block_device_info mdevs accel_info share_info old_guest',
    'nova.virt.libvirt.driver:LibvirtDriver._create_guest':
        'self context xml instance power_on pause post_xml_callback',
    'nova.virt.libvirt.driver:LibvirtDriver.resume':
        'self context instance network_info block_device_info share_info',
    'nova.virt.libvirt.driver:LibvirtDriver._cleanup':
        'self context instance network_info block_device_info destroy_vifs '
        'cleanup_instance_dir cleanup_instance_disks destroy_secrets',
    'nova.virt.libvirt.driver:LibvirtDriver._resume_guest_after_snapshot':
        'self context live_snapshot original_power_state instance guest',
    'nova.virt.libvirt.driver:LibvirtDriver.check_can_live_migrate_destination':
        'self context instance src_compute_info dst_compute_info block_migration '
        'disk_over_commit',
    'nova.virt.libvirt.driver:LibvirtDriver.post_claim_migrate_data':
        'self context instance migrate_data claim',
    'nova.virt.libvirt.driver:LibvirtDriver.pre_live_migration':
        'self context instance block_device_info network_info disk_info migrate_data',
    'nova.virt.libvirt.driver:LibvirtDriver._live_migration_operation':
        'self context instance dest block_migration migrate_data guest device_names',
    'nova.virt.libvirt.driver:LibvirtDriver.post_live_migration_at_destination':
        'self context instance network_info block_migration block_device_info',
    'nova.virt.libvirt.guest:Guest.migrate':
        'self destination migrate_uri migrate_disks destination_xml flags bandwidth '
        'parallel',
    'nova.virt.libvirt.driver:LibvirtDriver.check_can_live_migrate_source':
        'self context instance dest_check_data block_device_info',
    'nova.virt.libvirt.guest:Guest.launch':
        'self pause',
    'nova.virt.libvirt.guest:Guest.resume':
        'self',
    'nova.virt.libvirt.guest:Guest.save_memory_state':
        'self',
    'nova.virt.libvirt.host:Host.get_connection':
        'self',
    'nova.virt.libvirt.driver:LibvirtDriver._soft_reboot':
        'self instance',
    'nova.virt.libvirt.driver:LibvirtDriver._clean_shutdown':
        'self instance timeout retry_interval',
    'nova.virt.libvirt.driver:LibvirtDriver'
    '._detach_from_live_and_wait_for_event':
        'self dev guest instance_uuid device_name',
    'nova.virt.libvirt.driver:LibvirtDriver._detach_sync':
        'dev guest instance_uuid device_name persistent live',
    'nova.virt.libvirt.driver:LibvirtDriver._destroy':
        'self instance',
    'nova.virt.libvirt.driver:LibvirtDriver.emit_event':
        'self event',
    'nova.virt.libvirt.driver:LibvirtDriver.update_provider_tree':
        'self provider_tree nodename allocations',
    'nova.virt.libvirt.driver:LibvirtDriver.migrate_disk_and_power_off':
        'self context instance dest flavor network_info block_device_info '
        'timeout retry_interval',
    'nova.virt.libvirt.driver:LibvirtDriver._get_instance_disk_info':
        'self instance block_device_info',
    'nova.virt.libvirt.driver:LibvirtDriver._is_booted_from_volume':
        'block_device_info',
    'nova.virt.libvirt.driver:LibvirtDriver.get_available_resource':
        'self nodename',
}


def install() -> None:
    """Put the subclasses in place; called before Nova's own main.

    :raises UnknownNovaError: if Nova is not as they expect it
    """
    check()
    service.SERVICE_MANAGERS['nova-compute'] = MANAGER
    # Not in Nova's own module of claims, whose MoveClaim looks itself up there
    # to find its base class.
    resource_tracker.claims = claims
    _alias_driver()
    nova_rt.conf.register_opts(nova.conf.CONF)
    nova.conf.CONF.set_default('compute_driver', DRIVER)


def check() -> None:
    """Raise UnknownNovaError unless Nova is as the subclasses expect it."""
    signatures.check_release(version.version_string())
    signatures.check_signatures(EXPECTED)


def _alias_driver() -> None:
    """Make our driver importable where Nova looks: below ``nova.virt``.

    Entries in sys.modules, and not a longer ``nova.virt.__path__``, which
    would load a second copy of the class.
    """
    sys.modules['nova.virt.nova_rt'] = virt
    sys.modules['nova.virt.nova_rt.driver'] = importlib.import_module(
        'nova_rt.virt.driver')
