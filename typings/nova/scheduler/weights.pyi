# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

from nova.scheduler import host_manager

class BaseHostWeigher:
    def weight_multiplier(self, host_state: host_manager.HostState) -> float: ...
    def weigh_objects(self, weighed_obj_list: Sequence[Any],
                      weight_properties: Any) -> Sequence[float]: ...
