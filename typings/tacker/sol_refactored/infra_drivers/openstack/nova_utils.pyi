# SPDX-License-Identifier: Apache-2.0
from typing import Any

from tacker.sol_refactored.common import http_client

class NovaClient:
    client: http_client.HttpClient
    def __init__(self, vim_info: Any) -> None: ...
