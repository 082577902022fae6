# SPDX-License-Identifier: Apache-2.0
"""A server whose misses are heard: what is known of it, and when to look at it."""

from __future__ import annotations

from collections.abc import Iterator
import time

from oslo_log import log as logging

from nova_rt.monitor import activity
from nova_rt.monitor import pace
from nova_rt.monitor import record
from nova_rt.monitor import sources

LOG = logging.getLogger(__name__)

# A server that reports nothing is looked at so often: a job may hang that nobody guards,
# and the kernel does not tell of a folder that is mounted.
SLOW_NS = 10_000_000_000
# More names than a folder's limit, so that none is forgotten while it is there.
_NAMES = 64


class Watched:
    """A server.

    :ivar armed: whether the kernel tells of its next report
    :ivar watch: inotify's number of that, if it has one
    :ivar due_ns: when it is looked at, whatever happens
    """

    def __init__(self, server: str, source: sources.Source) -> None:
        self._server = server
        self.source = source
        self.armed = False
        self.watch: int | None = None
        self.due_ns = 0
        self._budget = pace.Budget(time.monotonic_ns())
        self._activities: dict[str, activity.Activity] = {}
        self._doubted = False

    @property
    def records(self) -> list[record.Record]:
        """What its activities tell."""
        return [known.record for known in self._activities.values()]

    def learn(self) -> None:
        """Take what it tells for known."""
        for found in self._records(self.source.known()):
            self._activities[found.name] = activity.Activity(self._server, found)

    def look(self) -> list[activity.News]:
        """Return what it tells that is new."""
        looked_ns = time.monotonic_ns()
        return [news for found in self._records(self.source.contents())
                if (news := self._of(found).news(
                    found, looked_ns, time.monotonic_ns(), self.source.same_clock))
                is not None]

    def _of(self, found: record.Record) -> activity.Activity:
        known = (self._activities.pop(found.name, None)
                 or activity.Activity(self._server, self.source.before(found)))
        if len(self._activities) == _NAMES:
            # The one that has not been seen for longest.
            del self._activities[next(iter(self._activities))]
        self._activities[found.name] = known
        return known

    def _records(self, told: Iterator[tuple[str | None, bytes]]) -> Iterator[record.Record]:
        for name, data in told:
            try:
                found = record.decode(data)
                if name not in (None, found.name):
                    raise record.RecordError('It has the name of another.')
            except record.RecordError as exc:
                self._doubt(name, exc)
            else:
                yield found

    def _doubt(self, name: str | None, why: record.RecordError) -> None:
        """Say once that it tells nonsense: a tenant could fill the log otherwise."""
        if not self._doubted:
            LOG.debug('The server %s tells nonsense of its jobs, which is ignored: %r: %s',
                      self._server, name, why)
        self._doubted = True

    def spend(self, spent_ns: int, servers: int) -> bool:
        """Say when it is looked at next after so much CPU time; return whether it rests.

        :param servers: how many there are
        """
        now_ns = time.monotonic_ns()
        rest_ns = self._budget.spend(spent_ns, now_ns, servers)
        self.due_ns = now_ns + rest_ns if rest_ns else _rounded(now_ns + SLOW_NS)
        return rest_ns > 0


def _rounded(time_ns: int) -> int:
    """Return a time at which others are due as well: to wake costs more than to look."""
    together_ns = SLOW_NS // 10
    return -(-time_ns // together_ns) * together_ns
