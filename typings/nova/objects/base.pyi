# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova import context as nova_context

class NovaObject:
    indirection_api: Any

class NovaObjectSerializer:
    def serialize_entity(self, context: nova_context.RequestContext, entity: Any) -> Any: ...
    def deserialize_entity(self, context: nova_context.RequestContext, entity: Any) -> Any: ...
