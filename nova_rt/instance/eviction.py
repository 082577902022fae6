# SPDX-License-Identifier: Apache-2.0
"""What is written down of a server that was stopped for a more critical one.

The instance is the journal. The mark is saved with the task state by which Nova stops the
server, or starts it again: Nova itself goes on with these when its service was killed. What
its user does with it afterwards is among its actions, so it is never taken for ours.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import enum
import hashlib
import json

from nova import context as nova_context
from nova import objects
from nova.compute import instance_actions
from nova.compute import vm_states
from oslo_log import log as logging

from nova_rt import closing

LOG = logging.getLogger(__name__)

MARK = 'rt_evicted'
# By these, users decide whether a server runs, and where; the others leave that as it is.
_DECIDES = frozenset({
    instance_actions.DELETE, instance_actions.RESTORE, instance_actions.STOP,
    instance_actions.START, instance_actions.REBOOT, instance_actions.REBUILD,
    instance_actions.EVACUATE, instance_actions.RESIZE, instance_actions.CONFIRM_RESIZE,
    instance_actions.REVERT_RESIZE, instance_actions.MIGRATE, instance_actions.LIVE_MIGRATION,
    instance_actions.PAUSE, instance_actions.UNPAUSE, instance_actions.SUSPEND,
    instance_actions.RESUME, instance_actions.RESCUE, instance_actions.UNRESCUE,
    instance_actions.SHELVE, instance_actions.SHELVE_OFFLOAD, instance_actions.UNSHELVE})


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """That a server was stopped for another.

    Nova keeps no more than 255 characters of it, and copies it into each image of the server,
    which its user can read. So it names no other server and no host, but by digests.

    :ivar misser: the digest of the other's uuid
    :ivar until_s: until when it is not started again, and its host takes no new servers, by
        the clock of the wall
    :ivar node: the digest of the compute node's uuid
    :ivar request: by which it was stopped, or started again
    :ivar after: its last action before that, by number
    :ivar again: whether it is being started again
    """

    misser: str
    until_s: int
    node: str
    request: str
    after: int
    again: bool = False


class Due(enum.Enum):
    """What is to be done with a server that has a mark."""

    NOTHING = 'nothing'
    START = 'start'
    FORGET = 'forget'


def digest(uuid: str) -> str:
    """Return by what a mark names a server or a node."""
    return hashlib.sha256(uuid.encode()).hexdigest()[:32]


def mark_of(instance: objects.Instance) -> Mark | None:
    """Return a server's mark, None if it has none that can be read."""
    text = instance.system_metadata.get(MARK)
    if not text:
        return None
    try:
        told = json.loads(text)
        # A later release may have written more.
        return Mark(**{each.name: told[each.name] for each in dataclasses.fields(Mark)
                       if each.name in told})
    except (TypeError, ValueError):
        LOG.warning('%s cannot be read: %s', MARK, text, instance=instance)
        return None


def put(instance: objects.Instance, mark: Mark) -> None:
    """Mark a server, to be saved with it."""
    instance.system_metadata[MARK] = json.dumps(dataclasses.asdict(mark), separators=(',', ':'))


def remove(instance: objects.Instance) -> None:
    """Take the mark from a server, to be saved with it."""
    instance.system_metadata.pop(MARK, None)


def last_action(context: nova_context.RequestContext, server: str) -> int:
    """Return the number of a server's newest action, 0 without one."""
    return max((each.id for each in objects.InstanceActionList.get_by_instance_uuid(
        context, server)), default=0)


def taken_over(mark: Mark, actions: Iterable[objects.InstanceAction]) -> bool:
    """Return whether somebody else has decided since whether the server should run."""
    return any(each.id > mark.after and each.request_id != mark.request
               and each.action in _DECIDES for each in actions)


def due(instance: objects.Instance, mark: Mark, node: str, now_s: float) -> Due:
    """Return what is to be done with a server, unless somebody else has decided.

    :param node: the uuid of the compute node that asks
    """
    if instance.task_state is not None:
        return Due.NOTHING
    if mark.node != digest(node):
        return Due.FORGET
    if closing.lasts(mark.until_s, now_s) or (
            instance.locked and instance.vm_state == vm_states.STOPPED):
        return Due.NOTHING
    return Due.START if instance.vm_state == vm_states.STOPPED else Due.FORGET
