# SPDX-License-Identifier: Apache-2.0
"""What an action does if the one before it was not made."""

from __future__ import annotations

from collections.abc import Mapping

from watcher import objects
from watcher.common import context
from watcher.common import exception

# Of an action, the uuid of the one before it; the planner says it.
PROPERTY = {'after': {'type': 'string'}}


def check(inputs: Mapping[str, object]) -> None:
    """Skip an action if the one before it was not made.

    Watcher itself would go on.

    :raises ActionSkipped: if it was not
    """
    if 'after' not in inputs:
        return
    before = objects.Action.get_by_uuid(context.make_context(), inputs['after'])
    if before.state != objects.action.State.SUCCEEDED:
        raise exception.ActionSkipped(
            f'the step before it, {before.uuid}, was not made ({before.state}). Start another '
            'audit to go on with a new plan.')
