# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import TypeVar

from oslo_config import cfg

_F = TypeVar('_F', bound=Callable[..., object])

class _ContextManager:
    def reader(self, function: _F) -> _F: ...
    def writer(self, function: _F) -> _F: ...

context_manager: _ContextManager

def configure(conf: cfg.ConfigOpts) -> None: ...
