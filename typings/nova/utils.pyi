# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any
from typing import Protocol
from typing import TypeVar

_F = TypeVar('_F', bound=Callable[..., Any])

class _Synchronized(Protocol):
    def __call__(self, function: _F) -> _F: ...

def synchronized(name: str, fair: bool = ...) -> _Synchronized: ...

def get_image_from_system_metadata(system_meta: dict[str, str]) -> dict[str, Any]: ...
