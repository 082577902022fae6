# SPDX-License-Identifier: Apache-2.0
from typing import Any

class PrometheusPluginAutoHealing:
    # The only one, or a stub of the monitoring plug-ins' base.
    _instance: Any
    @staticmethod
    def instance() -> Any: ...
    def _alert(self, request: Any, body: dict[str, Any]) -> None: ...
