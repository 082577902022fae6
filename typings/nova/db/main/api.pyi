# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import TypeVar

from oslo_config import cfg

_F = TypeVar('_F', bound=Callable[..., object])

def configure(conf: cfg.ConfigOpts) -> None: ...
def pick_context_manager_reader(f: _F) -> _F: ...
