# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova import test

class _IntegratedTestBase(test.TestCase):
    def __getattr__(self, name: str) -> Any: ...

class ProviderUsageBaseTestCase(_IntegratedTestBase):
    computes: dict[str, Any]
    compute_driver: str
    microversion: str | None
