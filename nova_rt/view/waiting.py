# SPDX-License-Identifier: Apache-2.0
"""The servers that wait for room, as people see them."""

from __future__ import annotations

import dataclasses

from nova import context as nova_context
from nova import objects

from nova_rt.instance import waiting


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """A server that waits.

    :ivar place: from 1, among all that wait
    """

    server: str
    name: str
    project: str
    place: int
    mark: waiting.Mark


def entries(context: nova_context.RequestContext, project: str | None = None) -> list[Entry]:
    """Return who waits, in the order in which they are tried.

    :param context: of an administrator
    :param project: whose servers; None for all
    """
    places = [(place, each) for place, each in enumerate(waiting.everyone(context), 1)
              if project is None or each.project == project]
    if not places:
        return []
    # Nova's own filters compare the project in Python, too.
    names = {request.instance_uuid: request.instance.display_name
             for request in objects.BuildRequestList.get_by_filters(
                 context, {} if project is None else {'project_id': project})}
    return [Entry(each.server, names.get(each.server) or '', each.project, place, each.mark)
            for place, each in places]


def one(context: nova_context.RequestContext, server: str) -> Entry | None:
    """Return a server that waits, None if it does not.

    :param context: of an administrator
    """
    return next((each for each in entries(context) if each.server == server), None)
