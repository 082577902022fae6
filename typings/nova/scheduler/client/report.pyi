# SPDX-License-Identifier: Apache-2.0
# Placement's client, with its payloads as Placement's API has them.
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from nova import context as nova_context
from requests import Response

CONSUMER_GENERATION_VERSION: str
# The singleton of the process.
PLACEMENTCLIENT: Any

class Retry(Exception): ...

class ProviderAllocInfo(NamedTuple):
    allocations: dict[str, dict[str, Any]]

class SchedulerReportClient:
    def get(self, url: str, version: str | None = ...,
            global_request_id: str | None = ...) -> Response: ...
    def post(self, url: str, data: Any, version: str | None = ...,
             global_request_id: str | None = ...) -> Response: ...
    def put(self, url: str, data: Any, version: str | None = ...,
            global_request_id: str | None = ...) -> Response: ...
    def delete(self, url: str, version: str | None = ...,
               global_request_id: str | None = ...) -> Response: ...
    def get_allocation_candidates(self, context: nova_context.RequestContext,
                                  resources: Any) -> Any: ...
    def get_allocations_for_resource_provider(
            self, context: nova_context.RequestContext, rp_uuid: str) -> ProviderAllocInfo: ...
    def get_usages_counts_for_limits(self, context: nova_context.RequestContext,
                                     project_id: str) -> dict[str, int]: ...
    def get_allocs_for_consumer(self, context: nova_context.RequestContext,
                                consumer: str) -> dict[str, Any]: ...
    def delete_allocation_for_instance(
            self, context: nova_context.RequestContext, uuid: str, consumer_type: str = ...,
            force: bool = ...) -> bool: ...
    def remove_provider_tree_from_instance_allocation(
            self, context: nova_context.RequestContext, consumer_uuid: str,
            root_rp_uuid: str) -> bool: ...
    def put_allocations(self, context: nova_context.RequestContext, consumer_uuid: str,
                        payload: Mapping[str, Any]) -> bool: ...

def report_client_singleton() -> SchedulerReportClient: ...
