# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable

from nova import objects
from nova.scheduler import host_manager

class BaseHostFilter:
    def filter_all(self, filter_obj_list: Iterable[host_manager.HostState],
                   spec_obj: objects.RequestSpec) -> Iterable[host_manager.HostState]: ...
    def host_passes(self, host_state: host_manager.HostState,
                    spec_obj: objects.RequestSpec) -> bool: ...

class HostFilterHandler:
    def get_matching_classes(
        self, loadable_class_names: Iterable[str]) -> list[type[BaseHostFilter]]: ...
