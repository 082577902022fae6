# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any

class ProviderData:
    inventory: dict[str, dict[str, Any]]
    traits: set[str]
    uuid: str

class ProviderTree:
    def data(self, name_or_uuid: str) -> ProviderData: ...
    def update_inventory(self, name_or_uuid: str, inventory: Mapping[str, Mapping[str, Any]],
                         ) -> bool: ...
    def add_traits(self, name_or_uuid: str, *traits: str) -> None: ...
    def remove_traits(self, name_or_uuid: str, *traits: str) -> None: ...
