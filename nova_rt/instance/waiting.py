# SPDX-License-Identifier: Apache-2.0
"""New servers that wait for room: what is written down of each, and in which order they go.

Nova keeps a request to build a server in the API database until the server is in a cell, and
shows the server as being scheduled while it is there. What we know of one that waits is
written into the same row, beside what Nova reads of it: whoever deletes the server deletes
that, too, at once, and Nova's own schema stays as it is. Every change compares the row with
what was read, so only one of several conductors makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import enum
import json

from nova import context as nova_context
from nova.db.api import api as api_db
from nova.db.api import models
from oslo_log import log as logging

from nova_rt import criticality

LOG = logging.getLogger(__name__)

# Beside the keys of Nova's serialised object, which reads only its own.
_KEY = 'nova_rt_waiting'


class Step(enum.Enum):
    """How far a server has come.

    In the last step it may exist in a cell: it is on the way out of the queue, to a host or
    to its fault.
    """

    WAITS = 'waits'
    TRIED = 'tried'
    LEAVES = 'leaves'


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """That a server waits. All times are by the clock of the wall, in seconds.

    :ivar since_s: when it was refused first
    :ivar until_s: when it is given up
    :ivar reason: why it was refused last, a sentence
    :ivar criticality: the letter that it says, empty if it says none
    :ivar holder: which attempt works on it, empty for none
    :ivar held_until_s: when that one is taken for dead
    """

    since_s: float
    until_s: float
    reason: str
    criticality: str = ''
    step: Step = Step.WAITS
    holder: str = ''
    held_until_s: float = 0.0

    def held(self, now_s: float) -> bool:
        """Return whether an attempt works on it that is not taken for dead."""
        return bool(self.holder) and now_s < self.held_until_s


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """A server that waits.

    :ivar row: what its row has where the mark is, as it was read
    """

    server: str
    project: str
    mark: Mark
    row: str

    @property
    def criticality(self) -> criticality.Criticality:
        """What it counts as."""
        said = self.mark.criticality
        return criticality.counted(criticality.Criticality[said] if said else None)

    @property
    def rank(self) -> tuple[int, float, str]:
        """Its place among others: the most critical first, then the one that waits longest."""
        return -self.criticality, self.mark.since_s, self.server


def everyone(context: nova_context.RequestContext) -> list[Waiting]:
    """Return the servers that wait, in the order in which they are tried."""
    return sorted(_parsed(_rows(context)), key=lambda each: each.rank)


def find(context: nova_context.RequestContext, server: str) -> Waiting | None:
    """Return a server that waits, by its uuid; None if it does not."""
    return next(_parsed(_rows(context, server)), None)


def begin(context: nova_context.RequestContext, server: str, mark: Mark,
          request: str) -> bool:
    """Have a server wait that Nova has just failed to place.

    :param request: all that it takes to place it, for :func:`request_of`
    :returns: False if its user has deleted it, or it waits already
    """
    row = _row(context, server)
    if row is None:
        return False
    told = _object(row)
    if told is None or _KEY in told:
        return False
    return _replace(context, server, row, _with(told, mark, request))


def change(context: nova_context.RequestContext, waiting: Waiting,
           mark: Mark) -> Waiting | None:
    """Give a server another mark; return it as it is then, None if somebody was faster."""
    told = _object(waiting.row)
    if told is None:
        return None
    row = _with(told, mark, told[_KEY]['request'])
    if not _replace(context, waiting.server, waiting.row, row):
        return None
    return dataclasses.replace(waiting, mark=mark, row=row)


def end(context: nova_context.RequestContext, waiting: Waiting) -> bool:
    """Delete a server's request and the mark with it; False if somebody was faster."""
    return _delete(context, waiting.server, waiting.row)


def request_of(waiting: Waiting) -> str:
    """Return what was given when the server began to wait."""
    told = _object(waiting.row)
    return str(told[_KEY]['request']) if told is not None else ''


def exists(context: nova_context.RequestContext, server: str) -> bool:
    """Return whether there is a request to build this server at all."""
    return _row(context, server) is not None


def _with(told: dict[str, dict[str, object]], mark: Mark, request: object) -> str:
    written = dataclasses.asdict(mark) | {'step': mark.step.value}
    return json.dumps({**told, _KEY: {'mark': written, 'request': request}})


def _parsed(rows: list[tuple[str, str, str]]) -> Iterator[Waiting]:
    for server, project, row in rows:
        told = _object(row)
        if told is None or _KEY not in told:
            continue
        try:
            yield Waiting(server, project, _mark(told[_KEY]['mark']), row)
        except (KeyError, TypeError, ValueError):
            LOG.warning('Server %s waits for room, but how cannot be read.', server)


def _mark(written: object) -> Mark:
    """Return a mark as it was written down.

    :raises KeyError, TypeError, ValueError: if it cannot be read
    """
    if not isinstance(written, dict):
        raise TypeError(written)
    # A later release may have written more, an older one less.
    named = {each.name: written[each.name] for each in dataclasses.fields(Mark)
             if each.name in written}
    mark = Mark(**named | {'step': Step(named.get('step', Step.WAITS.value))})
    if mark.criticality:
        criticality.Criticality[mark.criticality]
    return mark


def _object(row: str) -> dict[str, dict[str, object]] | None:
    """Return Nova's serialised object with our mark in it, None if it is none."""
    try:
        told = json.loads(row)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


@api_db.context_manager.reader
def _rows(context: nova_context.RequestContext,
          server: str | None = None) -> list[tuple[str, str, str]]:
    table = models.BuildRequest
    query = context.session.query(
        table.instance_uuid, table.project_id, table.block_device_mappings).filter(
            table.block_device_mappings.like(f'%"{_KEY}"%'))
    if server is not None:
        query = query.filter(table.instance_uuid == server)
    return [tuple(row) for row in query]


@api_db.context_manager.reader
def _row(context: nova_context.RequestContext, server: str) -> str | None:
    table = models.BuildRequest
    found = context.session.query(table.block_device_mappings).filter(
        table.instance_uuid == server).first()
    return None if found is None else found[0] or '{}'


@api_db.context_manager.writer
def _replace(context: nova_context.RequestContext, server: str, old: str, new: str) -> bool:
    table = models.BuildRequest
    return bool(context.session.query(table).filter(
        table.instance_uuid == server, table.block_device_mappings == old).update(
            {'block_device_mappings': new}, synchronize_session=False))


@api_db.context_manager.writer
def _delete(context: nova_context.RequestContext, server: str, row: str) -> bool:
    table = models.BuildRequest
    return bool(context.session.query(table).filter(
        table.instance_uuid == server, table.block_device_mappings == row).delete(
            synchronize_session=False))
