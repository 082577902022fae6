# SPDX-License-Identifier: Apache-2.0
"""What the applications of servers have told in all, which never falls.

The sum of what they tell now may: a record cannot be read while it is written, and begins anew
where its activity gets another period. Prometheus takes a counter that falls for one that began
anew, and counts what is left once more: jobs and misses of hours ago would be of this minute.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

from nova_rt.metrics import servers
from nova_rt.monitor import record

# As many activities of a server are remembered: their names are the tenant's. Several times
# what is read at once.
MOST = 256


@dataclasses.dataclass(slots=True)
class _Told:
    """What one start of a server has told.

    :ivar ended: jobs and misses of activities that began anew since, or were forgotten
    :ivar last: jobs and misses of each other, those that told last at the end
    """

    ended: tuple[int, int] = (0, 0)
    last: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)

    def take(self, each: record.Record) -> None:
        """Take what an activity tells now."""
        jobs, misses = self.last.pop(each.name, (0, 0))
        if each.jobs < jobs or each.misses < misses:
            self._end(jobs, misses)
        self.last[each.name] = each.jobs, each.misses
        if len(self.last) > MOST:
            self._end(*self.last.pop(next(iter(self.last))))

    def _end(self, jobs: int, misses: int) -> None:
        self.ended = self.ended[0] + jobs, self.ended[1] + misses

    @property
    def sums(self) -> tuple[int, int]:
        """Jobs and misses."""
        jobs, misses = zip(self.ended, *self.last.values(), strict=True)
        return sum(jobs), sum(misses)


class Totals:
    """Of all servers of a host, since they or this process started."""

    def __init__(self) -> None:
        # By server and libvirt's id of its domain, which is another after each start.
        self._told: dict[tuple[str, int], _Told] = {}

    def keep(self, running: Iterable[servers.Server]) -> None:
        """Forget all servers but these."""
        wanted = {(server.uuid, server.number) for server in running}
        self._told = {start: told for start, told in self._told.items() if start in wanted}

    def of(self, server: servers.Server,
           records: Sequence[record.Record]) -> tuple[int, int] | None:
        """Return jobs and misses of a server, None if it has never told any.

        :param records: what its activities tell now
        """
        told = self._told.get((server.uuid, server.number))
        if told is None:
            if not records:
                return None
            told = self._told[server.uuid, server.number] = _Told()
        for each in records:
            told.take(each)
        return told.sums
