# SPDX-License-Identifier: Apache-2.0
from nova import objects

class HostState:
    host: str
    nodename: str
    aggregates: list[objects.Aggregate]
    stats: dict[str, str]
    num_instances: int
    instances: dict[str, objects.Instance | None]
    hypervisor_type: str | None
    numa_topology: objects.NUMATopology | None
    cpu_allocation_ratio: float
    ram_allocation_ratio: float
    allocation_candidates: list[dict[str, object]]
    def __init__(self, host: str, node: str, cell_uuid: str | None) -> None: ...
    def update(self, compute: objects.ComputeNode | None = ...,
               service: dict[str, object] | None = ...,
               aggregates: list[objects.Aggregate] | None = ...,
               inst_dict: dict[str, objects.Instance | None] | None = ...) -> None: ...
