# SPDX-License-Identifier: Apache-2.0
from typing import Any

class HotResource:
    # tosca-parser's node template.
    nodetemplate: Any
    name: str
    type: str
    properties: dict[str, Any]
    def __init__(self, nodetemplate: Any, name: str | None = ..., type: str | None = ...,
                 properties: dict[str, Any] | None = ...) -> None: ...
    def handle_properties(self) -> None: ...
    def handle_life_cycle(self) -> Any: ...
    def handle_expansion(self) -> Any: ...
