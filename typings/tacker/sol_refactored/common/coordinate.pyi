# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import TypeVar

_F = TypeVar('_F', bound=Callable[..., object])

def lock_vnf_instance(inst_arg: str, delay: bool = False) -> Callable[[_F], _F]: ...
