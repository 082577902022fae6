# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

from nova import context as nova_context
from nova import objects

class API:
    def get(self, context: nova_context.RequestContext, instance_id: str,
            expected_attrs: Sequence[str] | None = None) -> objects.Instance: ...
    def live_migrate(self, context: nova_context.RequestContext, instance: objects.Instance,
                     block_migration: bool | None, disk_over_commit: bool | None,
                     host_name: str | None, force: bool | None = None,
                     async_: bool = False) -> None: ...
