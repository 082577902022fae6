# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

from nova import context as nova_context
from nova import objects

_RequestFilter = Callable[[nova_context.RequestContext, objects.RequestSpec], bool]

ALL_REQUEST_FILTERS: list[_RequestFilter]
