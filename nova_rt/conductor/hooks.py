# SPDX-License-Identifier: Apache-2.0
"""Puts nova-rt's conductor in place of Nova's, in nova-rt-conductor.

Nova has no extension point there. Every name that is overridden or called is checked when
the service starts.
"""

from __future__ import annotations

from nova import service
from nova import version
import nova.conf

from nova_rt import conf
from nova_rt import signatures

MANAGER = 'nova_rt.conductor.manager.RTConductorManager'

# As nova_rt.compute.hooks has them.
EXPECTED = {
    'nova.conductor.manager:ComputeTaskManager.schedule_and_build_instances':
        'self context build_requests request_specs image admin_password injected_files '
        'requested_networks block_device_mapping tags',
    'nova.conductor.manager:ComputeTaskManager._schedule_instances':
        'self context request_spec instance_uuids return_alternates',
    'nova.conductor.manager:ComputeTaskManager._bury_in_cell0':
        'self context request_spec exc build_requests instances block_device_mapping tags',
    'nova.conductor.manager:ComputeTaskManager._delete_build_request':
        'self context build_request instance cell instance_bdms instance_tags',
    'nova.conductor.manager:ComputeTaskManager._create_block_device_mapping':
        'self cell flavor instance_uuid block_device_mapping',
    'nova.conductor.manager:ComputeTaskManager._create_tags':
        'self context instance_uuid tags',
    'nova.conductor.manager:ComputeTaskManager._set_vm_state_and_notify':
        'self context instance_uuid method updates ex request_spec',
    'nova.scheduler.client.report:SchedulerReportClient.delete_allocation_for_instance':
        'self context uuid consumer_type force',
}


def install() -> None:
    """Put the manager in place; called before Nova's own main.

    :raises UnknownNovaError: if Nova is not as it expects it
    """
    check()
    service.SERVICE_MANAGERS['nova-conductor'] = MANAGER
    conf.register_opts(nova.conf.CONF)


def check() -> None:
    """Raise UnknownNovaError unless Nova is as the subclasses expect it."""
    signatures.check_release(version.version_string())
    signatures.check_signatures(EXPECTED)
