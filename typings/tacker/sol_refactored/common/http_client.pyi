# SPDX-License-Identifier: Apache-2.0
from typing import Any

class AuthHandle: ...

class HttpClient:
    auth_handle: AuthHandle
    def __init__(self, auth_handle: AuthHandle, version: str | None = None,
                 service_type: str = ..., connect_retries: int | None = None,
                 timeout: float | None = None, base_url: str | None = None) -> None: ...
    # The answer is that of requests; its body is decoded.
    def do_request(self, url: str, method: str, context: Any = None,
                   expected_status: list[int] = ..., **kwargs: Any) -> tuple[Any, Any]: ...
