# SPDX-License-Identifier: Apache-2.0
from typing import Any

from nova import context as nova_context
from nova import objects

class Claim:
    context: nova_context.RequestContext
    instance: objects.Instance
    # The object to change; ``instance`` is a copy of it.
    instance_ref: objects.Instance
    nodename: str
    tracker: Any
    def _claim_test(self, compute_node: objects.ComputeNode, limits: Any = ...) -> None: ...
    def abort(self) -> None: ...

class MoveClaim(Claim):
    flavor: objects.Flavor
    migration: objects.Migration
