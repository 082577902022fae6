# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from collections.abc import Mapping
from typing import TypeVar

_F = TypeVar('_F', bound=Callable[..., object])

def schema_nover(request_body_schema: Mapping[str, object]) -> Callable[[_F], _F]: ...
