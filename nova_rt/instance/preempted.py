# SPDX-License-Identifier: Apache-2.0
"""What is written down of a server whose reservation was made smaller for a more critical one.

The instance is the journal: the mark is saved with the smaller reservation, in one step. Who
changes the reservation afterwards takes the mark away with the same save, so what they want
is never replaced by what the server had before.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import json

from nova import context as nova_context
from nova import objects
from nova.db.main import api as main_db
from nova.db.main import models
from oslo_log import log as logging
import sqlalchemy as sa

from nova_rt import reservation
from nova_rt.instance import flavors

LOG = logging.getLogger(__name__)

MARK = 'rt_preempted'
# The mark that a server has once the change that has begun is done.
NEXT = 'rt_next_preempted'


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """That a server was shrunk; it names nobody. Nova keeps 255 characters.

    :ivar was_us: the runtime that it had just before the change that this is saved with
    :ivar period_us: the period that it had then
    :ivar owed_us: the runtime that it had before it was shrunk for the first time
    :ivar flavor: which it had then, by Nova's number
    :ivar hint: the runtime that its hints asked for then, None without one
    :ivar returned: whether that change gave it back what it had
    """

    was_us: int
    period_us: int
    owed_us: int
    flavor: int
    hint: str | None = None
    returned: bool = False

    def to_text(self) -> str:
        """Return the mark as it is written down."""
        return json.dumps(dataclasses.asdict(self), separators=(',', ':'))


def from_text(text: str) -> Mark:
    """Return a mark as it was written down.

    :raises ValueError: if it cannot be read
    """
    try:
        told = json.loads(text)
        # A later release may have written more, an older one less.
        return Mark(**{each.name: told[each.name] for each in dataclasses.fields(Mark)
                       if each.name in told})
    except TypeError as exc:
        raise ValueError(text) from exc


def mark_of(instance: objects.Instance) -> Mark | None:
    """Return a server's mark, None if it has none that can be read."""
    text = instance.system_metadata.get(MARK)
    if not text:
        return None
    try:
        return from_text(text)
    except ValueError:
        LOG.warning('%s cannot be read: %s', MARK, text, instance=instance)
        return None


def set_next(instance: objects.Instance, text: str | None) -> None:
    """Write down the mark that a change leaves, to be saved when it begins; None: none."""
    if text is None:
        instance.system_metadata.pop(NEXT, None)
    else:
        instance.system_metadata[NEXT] = text


def apply_next(instance: objects.Instance) -> None:
    """Give a server the mark that its change leaves, to be saved when that is done."""
    text = instance.system_metadata.pop(NEXT, None)
    if text is None:
        instance.system_metadata.pop(MARK, None)
    else:
        instance.system_metadata[MARK] = text


def shrunk(instance: objects.Instance, hints: Mapping[str, object],
           has: reservation.Reservation) -> Mark:
    """Return the mark of a server that is about to be shrunk, perhaps once more.

    :param hints: those that its request has now
    """
    mark = mark_of(instance)
    if mark is not None:
        return dataclasses.replace(
            mark, was_us=has.runtime_us, period_us=has.period_us, returned=False)
    said = reservation.times_from_hints(hints).runtime_us
    return Mark(has.runtime_us, has.period_us, has.runtime_us, instance.instance_type_id,
                None if said is None else str(said))


def former_hints(hints: Mapping[str, object], mark: Mark) -> dict[str, object]:
    """Return hints with the runtime that they asked for before."""
    former = {name: value for name, value in hints.items() if name not in (
        reservation.RUNTIME, reservation.EXTRA_SPEC_PREFIX + reservation.RUNTIME)}
    if mark.hint is not None:
        former[reservation.RUNTIME] = [mark.hint]
    return former


def owed_share(instance: objects.Instance) -> int:
    """Return the share that a server is to have again beside what it has, in fixed point."""
    mark, has = mark_of(instance), flavors.reservation_of(instance.flavor)
    if mark is None or has is None:
        return 0
    return max(has.with_times(reservation.Times(mark.owed_us)).share - has.share, 0)


@main_db.pick_context_manager_reader
def of_cell(context: nova_context.RequestContext, project: str | None = None) -> list[str]:
    """Return the servers of a cell that have a mark, by uuid.

    :param context: of an administrator, in the cell
    :param project: whose servers; None: those of all
    """
    entry, server = models.InstanceSystemMetadata, models.Instance
    wanted = [entry.key == MARK, entry.deleted == 0, server.deleted == 0]
    if project is not None:
        wanted.append(server.project_id == project)
    return [uuid for (uuid,) in context.session.execute(
        sa.select(entry.instance_uuid).join(
            server, server.uuid == entry.instance_uuid).where(*wanted))]
