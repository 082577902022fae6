# SPDX-License-Identifier: Apache-2.0
"""Asks the host of a server what the kernel has given to it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import cast

from nova import context as nova_context

from nova_rt import usage
from nova_rt.instance import compute_call

_COUNTS = [field.name for field in dataclasses.fields(usage.Usage)][1:]


def ask(context: nova_context.RequestContext, server: str) -> Mapping[int, usage.Usage]:
    """Return what a server has got, by pCPU; nothing unless it runs with a reservation.

    :param context: of an administrator
    :param server: its uuid
    :raises UnansweredError: if its host did not answer, or failed at it
    :raises RefusedError: if it is on no host
    :raises InstanceMappingNotFound, InstanceNotFound: if Nova does not know it
    """
    with compute_call.located(context, server) as (cell, instance):
        answer = compute_call.call(
            cell, instance, 'reservation_usage', 'see whether it runs, and ask again')
    # Another release of the host may count less, or more.
    return {each['pcpu']: usage.Usage(each['enforced'], *map(each.get, _COUNTS))
            for each in cast('Sequence[Mapping[str, int]]', answer)}
