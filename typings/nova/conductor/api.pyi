# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova import context as nova_context
from nova import objects

class ComputeTaskAPI:
    def rebuild_instance(self, context: nova_context.RequestContext, instance: objects.Instance,
                         **request: Any) -> None: ...
