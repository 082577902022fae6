# SPDX-License-Identifier: Apache-2.0
ACTIVE: str
BUILDING: str
ERROR: str
RESCUED: str
RESIZED: str
SHELVED_OFFLOADED: str
SUSPENDED: str
STOPPED: str
PAUSED: str

def allow_resource_removal(vm_state: str, task_state: str | None = ...) -> bool: ...
