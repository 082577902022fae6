# SPDX-License-Identifier: Apache-2.0
from typing import Any

class ExtraSpecValidator:
    name: str
    description: str
    value: dict[str, Any]
    def __init__(self, *, name: str, description: str, value: dict[str, Any]) -> None: ...
    def validate(self, name: str, value: Any) -> None: ...
