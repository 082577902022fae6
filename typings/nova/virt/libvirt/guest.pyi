# SPDX-License-Identifier: Apache-2.0
from typing import Any

class Guest:
    id: int
    uuid: str
    _domain: Any
    def get_xml_desc(self, dump_inactive: bool = ...) -> str: ...
