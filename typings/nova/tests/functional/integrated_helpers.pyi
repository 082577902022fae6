# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova import test

class _IntegratedTestBase(test.TestCase):
    def __getattr__(self, name: str) -> Any: ...

class ProviderUsageBaseTestCase(_IntegratedTestBase):
    computes: dict[str, Any]
    compute_driver: str
    microversion: str | None
    def _wait_for_server_parameter(
            self, server: dict[str, Any], expected_params: dict[str, Any],
            max_retries: int = ..., **kwargs: Any) -> dict[str, Any]: ...
    def _wait_for_migration_status(self, server: dict[str, Any],
                                   expected_statuses: list[str]) -> dict[str, Any]: ...
    def _wait_for_instance_action_event(self, *args: Any, **kwargs: Any) -> dict[str, Any]: ...
