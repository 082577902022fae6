# SPDX-License-Identifier: Apache-2.0
from nova import context as nova_context
from nova import objects

def notify_about_instance_action(
        context: nova_context.RequestContext, instance: objects.Instance, host: str, *,
        action: str, phase: str | None = ..., bdms: objects.BlockDeviceMappingList | None = ...,
) -> None: ...
