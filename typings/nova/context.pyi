# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from nova import objects

CELL_TIMEOUT: int

class RequestContext:
    is_admin: bool
    # Of the cell's database, while one of Nova's functions uses it.
    session: Any
    user_id: str | None
    project_id: str | None
    global_id: str
    request_id: str
    def can(self, action: str, target: Mapping[str, Any] | None = ...,
            fatal: bool = ...) -> bool: ...
    def to_policy_values(self) -> dict[str, Any]: ...
    def to_dict(self) -> dict[str, Any]: ...
    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RequestContext: ...
    def elevated(self, read_deleted: str | None = ...) -> RequestContext: ...

def get_admin_context(read_deleted: str = ...) -> RequestContext: ...
def set_target_cell(context: RequestContext, cell_mapping: objects.CellMapping | None) -> None: ...
def target_cell(context: RequestContext, cell_mapping: objects.CellMapping | None,
                ) -> AbstractContextManager[RequestContext]: ...
# A cell that failed is an exception or a marker among the results.
def scatter_gather_skip_cell0(context: RequestContext, fn: Callable[..., Any],
                              *args: object, **kwargs: object) -> dict[str, Any]: ...
def scatter_gather_cells(context: RequestContext, cell_mappings: Iterable[objects.CellMapping],
                         timeout: int, fn: Callable[..., Any], *args: object,
                         **kwargs: object) -> dict[str, Any]: ...
