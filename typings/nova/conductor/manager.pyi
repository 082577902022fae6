# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova import context as nova_context
from nova import objects
from nova.scheduler.client import report

class ConductorManager:
    compute_task_mgr: ComputeTaskManager
    additional_endpoints: list[Any]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class ComputeTaskManager:
    report_client: report.SchedulerReportClient
    def schedule_and_build_instances(
            self, context: nova_context.RequestContext,
            build_requests: list[objects.BuildRequest],
            request_specs: list[objects.RequestSpec], image: Any, admin_password: Any,
            injected_files: Any, requested_networks: Any, block_device_mapping: Any,
            tags: Any = ...) -> None: ...
    def _schedule_instances(self, context: nova_context.RequestContext,
                            request_spec: objects.RequestSpec, instance_uuids: Any = ...,
                            return_alternates: bool = ...) -> Any: ...
    def _bury_in_cell0(
            self, context: nova_context.RequestContext, request_spec: objects.RequestSpec,
            exc: Exception, build_requests: list[objects.BuildRequest] | None = ...,
            instances: list[objects.Instance] | None = ..., block_device_mapping: Any = ...,
            tags: Any = ...) -> None: ...
    def _delete_build_request(
            self, context: nova_context.RequestContext, build_request: objects.BuildRequest,
            instance: objects.Instance, cell: Any, instance_bdms: Any,
            instance_tags: Any) -> bool: ...
    def _create_block_device_mapping(
            self, cell: objects.CellMapping, flavor: objects.Flavor, instance_uuid: str,
            block_device_mapping: Any) -> Any: ...
    def _create_tags(self, context: nova_context.RequestContext, instance_uuid: str,
                     tags: Any) -> Any: ...
    def _set_vm_state_and_notify(
            self, context: nova_context.RequestContext, instance_uuid: str, method: str,
            updates: dict[str, Any], ex: Exception,
            request_spec: objects.RequestSpec) -> None: ...
