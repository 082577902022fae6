# SPDX-License-Identifier: Apache-2.0
from typing import Any

class ToscaNfvScalingAspects:
    multi_nested_templates: dict[str, Any]
    def handle_properties(self, resources: Any) -> Any: ...
