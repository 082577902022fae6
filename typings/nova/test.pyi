# SPDX-License-Identifier: Apache-2.0
from typing import Any
import unittest

CELL1_NAME: str

class TestCase(unittest.TestCase):
    cell_mappings: dict[str, Any]
    def useFixture(self, fixture: Any) -> Any: ...
    def flags(self, group: str | None = ..., **options: object) -> None: ...
    def restart_compute_service(self, compute: Any, keep_hypervisor_state: bool = ...) -> Any: ...
