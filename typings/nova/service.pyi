# SPDX-License-Identifier: Apache-2.0
from typing import Any

SERVICE_MANAGERS: dict[str, str]

def __getattr__(name: str) -> Any: ...
