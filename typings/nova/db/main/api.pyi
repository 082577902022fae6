# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import TypeVar

from nova import context as nova_context
from oslo_config import cfg
import sqlalchemy

_F = TypeVar('_F', bound=Callable[..., object])

def configure(conf: cfg.ConfigOpts) -> None: ...
def pick_context_manager_reader(f: _F) -> _F: ...
def pick_context_manager_writer(f: _F) -> _F: ...
def get_engine(use_slave: bool = ...,
               context: nova_context.RequestContext | None = ...) -> sqlalchemy.Engine: ...
