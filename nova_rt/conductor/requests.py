# SPDX-License-Identifier: Apache-2.0
"""All that nova-api sends with new servers, as text, and back.

Nova stores only a part of it. The text has what the message to the conductor has: the user's
token, networks, the administrator's password and files of the server.
"""

from __future__ import annotations

import json
from typing import Any

from nova import context as nova_context
from nova.objects import base
from oslo_serialization import jsonutils

_CONTEXT = 'context'


def to_text(context: nova_context.RequestContext, arguments: dict[str, Any]) -> str:
    """Return a request as text.

    :param arguments: by name, those of ``schedule_and_build_instances``
    """
    serializer = base.NovaObjectSerializer()
    text: str = jsonutils.dumps({
        _CONTEXT: context.to_dict(),
        **{name: serializer.serialize_entity(context, value)
           for name, value in arguments.items()}})
    return text


def from_text(text: str) -> tuple[nova_context.RequestContext, dict[str, Any]]:
    """Return the context and the arguments of a request."""
    told = json.loads(text)
    context = nova_context.RequestContext.from_dict(told.pop(_CONTEXT))
    serializer = base.NovaObjectSerializer()
    return context, {name: serializer.deserialize_entity(context, value)
                     for name, value in told.items()}
