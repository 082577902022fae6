# SPDX-License-Identifier: Apache-2.0
from typing import Any

class NovaObject:
    indirection_api: Any
