# SPDX-License-Identifier: Apache-2.0
from typing import Any

class Request:
    method: str
    path_info: str
    body: bytes
    environ: dict[str, Any]
    def set_api_version_request(self) -> None: ...
    def get_content_type(self) -> str | None: ...
    def get_response(self, application: Any) -> Any: ...

class Fault:
    def __init__(self, exception: Exception) -> None: ...
