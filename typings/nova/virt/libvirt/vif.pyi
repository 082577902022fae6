# SPDX-License-Identifier: Apache-2.0
from typing import Any

class LibvirtGenericVIFDriver:
    host: Any
    def __init__(self, host: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
