# SPDX-License-Identifier: Apache-2.0
"""The share that a project has, with what it is about to have, or to have again."""

from __future__ import annotations

from nova import context as nova_context

from nova_rt import allocations
from nova_rt.limits import under_way


def of_project(context: nova_context.RequestContext, project: str) -> int:
    """Return the share of a project in fixed point.

    No request of the project may be let through meanwhile: see
    :mod:`nova_rt.limits.turns`.

    :param context: of an administrator
    :raises UsagesRetrievalFailed, ConsumerAllocationRetrievalFailed: if Placement refuses
    :raises UndecidedError: if a cell that has servers of the project does not answer
    """
    placement = allocations.PlacementClient(context)
    coming = under_way.of_project(context, project)
    new, owed = coming.new, under_way.owed(context, project)
    while True:
        allocated = placement.share_of_project(project)
        # An allocation that is there now may have been made just after that, and a server shrunk
        # or given back what it had: ask again until none was.
        without = {server: share for server, share in new.items()
                   if not placement.share_of(server)}
        still_owed = under_way.owed(context, project)
        if without == new and still_owed == owed:
            return allocated + sum(new.values()) + coming.growth + sum(owed.values())
        new, owed = without, still_owed
