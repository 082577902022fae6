# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from nova import context as nova_context
from nova import objects
from nova.scheduler.client import report

COMPUTE_RESOURCE_SEMAPHORE: str
claims: ModuleType

class ResourceTracker:
    host: str
    driver: Any
    reportclient: report.SchedulerReportClient
    compute_nodes: dict[str, objects.ComputeNode]
    tracked_instances: set[str]
    tracked_migrations: dict[str, objects.Migration]
    def __init__(self, host: str, driver: Any,
                 reportclient: report.SchedulerReportClient | None = ...) -> None: ...
    def disabled(self, nodename: str) -> bool: ...
    def instance_claim(self, context: nova_context.RequestContext, instance: objects.Instance,
                       nodename: str, allocations: Mapping[str, Any],
                       limits: Any = ...) -> Any: ...
    def abort_instance_claim(self, context: nova_context.RequestContext,
                             instance: objects.Instance, nodename: str) -> None: ...
    def drop_move_claim_at_dest(self, context: nova_context.RequestContext,
                                instance: objects.Instance,
                                migration: objects.Migration) -> None: ...
    def finish_evacuation(self, instance: objects.Instance, node: str,
                          migration: objects.Migration | None) -> None: ...
    def update_usage(self, context: nova_context.RequestContext, instance: objects.Instance,
                     nodename: str) -> None: ...
    def _move_claim(self, context: nova_context.RequestContext, instance: objects.Instance,
                    new_flavor: objects.Flavor, nodename: str, migration: objects.Migration,
                    allocations: Mapping[str, Any] | None, *args: Any, **kwargs: Any) -> Any: ...
    def _drop_move_claim(self, context: nova_context.RequestContext, instance: objects.Instance,
                         nodename: str, flavor: objects.Flavor | None = ...,
                         prefix: str = ...) -> None: ...
    def _update(self, context: nova_context.RequestContext, compute_node: objects.ComputeNode,
                startup: bool = ...) -> None: ...
    def _update_usage_from_instance(self, context: nova_context.RequestContext,
                                    instance: objects.Instance, nodename: str,
                                    is_removed: bool = ...) -> None: ...
    def _update_usage_from_instances(self, context: nova_context.RequestContext,
                                     instances: Sequence[objects.Instance],
                                     nodename: str) -> Any: ...
    def _update_usage_from_migration(self, context: nova_context.RequestContext,
                                     instance: objects.Instance, migration: objects.Migration,
                                     nodename: str) -> None: ...
    def _update_usage_from_migrations(self, context: nova_context.RequestContext,
                                      migrations: Sequence[objects.Migration],
                                      nodename: str) -> None: ...
