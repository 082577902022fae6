# SPDX-License-Identifier: Apache-2.0
from typing import Any

class ToscaAutoscaling:
    # A Heat template, by name.
    nested_template: Any
    def handle_properties(self, resources: Any) -> Any: ...
