# SPDX-License-Identifier: Apache-2.0
from typing import Any

class Resources:
    def __init__(self, vcpus: int = ..., memory_mb: int = ..., local_gb: int = ...) -> None: ...

class FakeDriver:
    vcpus: int
    memory_mb: int
    local_gb: int
    resources: Resources
    def __init__(self, virtapi: Any, read_only: bool = ...) -> None: ...
    def init_host(self, host: str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
