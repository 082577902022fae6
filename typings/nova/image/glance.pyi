# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova import context as nova_context

class API:
    def get(self, context: nova_context.RequestContext, id_or_uri: str) -> dict[str, Any]: ...
