# SPDX-License-Identifier: Apache-2.0
# Versioned objects: fields as nova-rt reads them. A field that is nullable only in
# states that nova-rt never meets is not optional here.
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from typing import Self

from nova import context as nova_context

def register_all() -> None: ...

class _Object:
    _context: nova_context.RequestContext
    def __init__(self, context: nova_context.RequestContext | None = ...,
                 **fields: Any) -> None: ...
    def __contains__(self, name: str) -> bool: ...
    def obj_clone(self) -> Self: ...
    def obj_what_changed(self) -> set[str]: ...
    def obj_reset_changes(self, fields: Sequence[str] | None = ...) -> None: ...

class Flavor(_Object):
    id: int
    flavorid: str
    name: str
    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int
    swap: int
    rxtx_factor: float | None
    vcpu_weight: int | None
    extra_specs: dict[str, str]
    @classmethod
    def obj_from_primitive(cls, primitive: dict[str, Any]) -> Self: ...
    def create(self) -> None: ...
    @classmethod
    def get_by_flavor_id(cls, context: nova_context.RequestContext, flavor_id: str,
                         read_deleted: str | None = ...) -> Self: ...
    @classmethod
    def get_by_name(cls, context: nova_context.RequestContext, name: str) -> Self: ...

class ImageMetaProps(_Object):
    traits_required: list[str]

class ImageMeta(_Object):
    properties: ImageMetaProps
    @classmethod
    def from_dict(cls, image_meta: Mapping[str, Any]) -> Self: ...

class InstanceGroup(_Object):
    hosts: list[str]
    members: list[str]
    policy: str
    @classmethod
    def get_by_uuid(cls, context: nova_context.RequestContext, uuid: str) -> Self: ...

class Aggregate(_Object):
    hosts: list[str]
    metadata: dict[str, str]

class AggregateList(_Object):
    def __iter__(self) -> Iterator[Aggregate]: ...
    @classmethod
    def get_all(cls, context: nova_context.RequestContext) -> Self: ...

class MigrationContext(_Object):
    migration_id: int

# Those that only bench makes.
class HVSpec(_Object): ...
class InstanceNUMATopology(_Object): ...
class LibvirtLiveMigrateData(_Object): ...
class LibvirtLiveMigrateNUMAInfo(_Object): ...
class NetworkMetadata(_Object): ...
class NUMACell(_Object): ...
class NUMAPagesTopology(_Object): ...
class NUMATopology(_Object): ...
class PciDeviceList(_Object): ...
class PciDevicePoolList(_Object): ...
class RequestLevelParams(_Object): ...
class SecurityGroupList(_Object): ...

class InstancePCIRequests(_Object):
    requests: list[Any]

class InstanceFault(_Object):
    message: str
    @classmethod
    def get_latest_for_instance(cls, context: nova_context.RequestContext,
                                instance_uuid: str) -> Self: ...

class InstanceAction(_Object):
    id: int
    action: str
    request_id: str
    def create(self) -> None: ...

class InstanceActionList(_Object):
    def __iter__(self) -> Iterator[InstanceAction]: ...
    @classmethod
    def get_by_instance_uuid(cls, context: nova_context.RequestContext, instance_uuid: str,
                             limit: int | None = None) -> Self: ...

class InstanceActionEvent(_Object):
    result: str | None
    details: str | None

class InstanceActionEventList(_Object):
    def __iter__(self) -> Iterator[InstanceActionEvent]: ...
    @classmethod
    def get_by_action(cls, context: nova_context.RequestContext,
                      action_id: int) -> Self: ...

class Instance(_Object):
    id: int
    uuid: str
    name: str
    display_name: str | None
    project_id: str
    user_id: str
    # None while it is on no host, and so is its node.
    host: str | None
    node: str
    deleted: bool
    vm_state: str
    locked: bool
    task_state: str | None
    power_state: int
    launched_at: datetime | None
    instance_type_id: int
    system_metadata: dict[str, str]
    flavor: Flavor
    old_flavor: Flavor | None
    new_flavor: Flavor | None
    migration_context: MigrationContext | None
    pci_requests: InstancePCIRequests | None
    numa_topology: InstanceNUMATopology | None
    resources: object | None
    fault: InstanceFault | None
    image_ref: str
    def save(self, expected_vm_state: object = ..., expected_task_state: object = ...,
             admin_state_reset: bool = ...) -> None: ...
    def refresh(self, use_slave: bool = ...) -> None: ...
    def get_network_info(self) -> Any: ...
    def drop_migration_context(self) -> None: ...
    @classmethod
    def get_by_uuid(cls, context: nova_context.RequestContext, uuid: str,
                    expected_attrs: Sequence[str] | None = ...,
                    use_slave: bool = ...) -> Self: ...

class InstanceList(_Object):
    def __iter__(self) -> Iterator[Instance]: ...
    def __getitem__(self, index: int) -> Instance: ...
    def __len__(self) -> int: ...
    @classmethod
    def get_by_host(cls, context: nova_context.RequestContext, host: str,
                    expected_attrs: Sequence[str] | None = ...) -> Self: ...
    @classmethod
    def get_by_host_and_node(cls, context: nova_context.RequestContext, host: str, node: str,
                             expected_attrs: Sequence[str] | None = ...) -> Self: ...
    @classmethod
    def get_by_filters(cls, context: nova_context.RequestContext, filters: Mapping[str, Any],
                       expected_attrs: Sequence[str] | None = ...) -> Self: ...

class BuildRequest(_Object):
    instance_uuid: str
    block_device_mappings: Any
    tags: Any
    instance: Instance
    @classmethod
    def get_by_instance_uuid(cls, context: nova_context.RequestContext,
                             instance_uuid: str) -> Self: ...

class BuildRequestList(_Object):
    def __iter__(self) -> Iterator[BuildRequest]: ...
    @classmethod
    def get_by_filters(cls, context: nova_context.RequestContext,
                       filters: Mapping[str, Any]) -> Self: ...

class Migration(_Object):
    id: int
    uuid: str
    source_compute: str
    source_node: str
    dest_compute: str
    dest_node: str
    instance_uuid: str
    status: str
    migration_type: str
    old_instance_type_id: int
    new_instance_type_id: int
    @property
    def is_resize(self) -> bool: ...
    @property
    def is_live_migration(self) -> bool: ...
    def create(self) -> None: ...
    def save(self) -> None: ...
    @classmethod
    def get_by_id(cls, context: nova_context.RequestContext, migration_id: int) -> Self: ...
    @classmethod
    def get_by_uuid(cls, context: nova_context.RequestContext, migration_uuid: str) -> Self: ...

class MigrationList(_Object):
    def __iter__(self) -> Iterator[Migration]: ...
    def __getitem__(self, index: int) -> Migration: ...
    @classmethod
    def get_by_filters(cls, context: nova_context.RequestContext, filters: Mapping[str, Any],
                       sort_keys: Sequence[str] | None = ...,
                       sort_dirs: Sequence[str] | None = ...,
                       limit: int | None = ...) -> Self: ...
    @classmethod
    def get_in_progress_by_instance(cls, context: nova_context.RequestContext,
                                    instance_uuid: str, migration_type: str) -> Self: ...
    @classmethod
    def get_in_progress_and_error(cls, context: nova_context.RequestContext, host: str,
                                  node: str) -> Self: ...
    @classmethod
    def get_in_progress_by_host_and_node(cls, context: nova_context.RequestContext, host: str,
                                         node: str) -> Self: ...

class ComputeNode(_Object):
    id: int
    uuid: str
    host: str
    hypervisor_hostname: str
    hypervisor_type: str
    vcpus: int
    cpu_allocation_ratio: float
    stats: dict[str, str] | None
    def create(self) -> None: ...
    @classmethod
    def get_by_uuid(cls, context: nova_context.RequestContext, compute_uuid: str) -> Self: ...
    @classmethod
    def get_by_host_and_nodename(cls, context: nova_context.RequestContext, host: str | None,
                                 nodename: str | None) -> Self: ...

class FlavorList(_Object):
    def __iter__(self) -> Iterator[Flavor]: ...
    @classmethod
    def get_all(cls, context: nova_context.RequestContext) -> Self: ...

class ComputeNodeList(_Object):
    def __iter__(self) -> Iterator[ComputeNode]: ...
    @classmethod
    def get_all(cls, context: nova_context.RequestContext) -> Self: ...
    @classmethod
    def get_all_by_host(cls, context: nova_context.RequestContext, host: str) -> Self: ...
    @classmethod
    def get_by_pagination(cls, context: nova_context.RequestContext, limit: int | None = ...,
                          marker: int | None = ...) -> Self: ...

class Service(_Object):
    host: str
    def create(self) -> None: ...
    disabled: bool
    disabled_reason: str | None
    @classmethod
    def get_by_compute_host(cls, context: nova_context.RequestContext,
                            host: str | None) -> Self: ...

class ServiceList(_Object):
    def __iter__(self) -> Iterator[Service]: ...
    @classmethod
    def get_by_binary(cls, context: nova_context.RequestContext, binary: str,
                      include_disabled: bool = ...) -> Self: ...

class CellMapping(_Object):
    uuid: str
    name: str | None
    database_connection: str
    def is_cell0(self) -> bool: ...

class HostMapping(_Object):
    cell_mapping: CellMapping
    @classmethod
    def get_by_host(cls, context: nova_context.RequestContext, host: str) -> Self: ...

class CellMappingList(_Object):
    def __iter__(self) -> Iterator[CellMapping]: ...
    def __len__(self) -> int: ...
    @classmethod
    def get_all(cls, context: nova_context.RequestContext) -> Self: ...

class InstanceMapping(_Object):
    user_id: str
    project_id: str
    cell_mapping: CellMapping | None
    queued_for_delete: bool
    def save(self) -> None: ...
    def destroy(self) -> None: ...
    @classmethod
    def get_by_instance_uuid(cls, context: nova_context.RequestContext,
                             instance_uuid: str) -> Self: ...

class InstanceMappingList(_Object):
    def __len__(self) -> int: ...
    @classmethod
    def get_not_deleted_by_cell_and_project(
            cls, context: nova_context.RequestContext, cell_uuid: str, project_id: str,
            limit: int | None = None) -> Self: ...

class Destination(_Object):
    host: str | None
    node: str | None
    cell: CellMapping | None

class SchedulerRetries(_Object):
    num_attempts: int
    hosts: ComputeNodeList

class RequestSpec(_Object):
    project_id: str
    availability_zone: str | None
    flavor: Flavor
    image: ImageMeta | None
    num_instances: int
    is_bfv: bool
    ignore_hosts: list[str] | None
    force_hosts: list[str] | None
    instance_uuid: str
    instance_group: InstanceGroup | None
    pci_requests: InstancePCIRequests | None
    requested_destination: Destination | None
    requested_resources: list[Any]
    numa_topology: InstanceNUMATopology | None
    retry: SchedulerRetries | None
    # RequestSpec holds lists of strings; hints that are on their way to it hold anything.
    scheduler_hints: dict[str, Any] | None
    # Derived from the image, the flavor and the operator's aggregates.
    root_required: set[str]
    def reset_forced_destinations(self) -> None: ...
    def obj_set_defaults(self) -> None: ...
    def save(self) -> None: ...
    def destroy(self) -> None: ...
    @classmethod
    def get_by_instance_uuid(cls, context: nova_context.RequestContext,
                             instance_uuid: str) -> Self: ...

class BlockDeviceMappingList(_Object):
    @classmethod
    def get_by_instance_uuid(cls, context: nova_context.RequestContext,
                             instance_uuid: str) -> Self: ...
