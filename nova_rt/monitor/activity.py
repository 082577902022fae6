# SPDX-License-Identifier: Apache-2.0
"""What is new in the record of an activity."""

from __future__ import annotations

import dataclasses

from nova_rt.monitor import record


@dataclasses.dataclass(frozen=True, slots=True)
class News:
    """What a server's activity has suffered since it was last looked at; times in ns.

    :ivar server: its uuid
    :ivar record: all that the activity tells, its name and deadline among it
    :ivar misses: jobs that ended after their deadline
    :ivar overruns: jobs that used up their runtime
    :ivar late: jobs that are late and were not told as such before: one that hangs is told
        then, and is among the misses again when it ends
    :ivar overdue_ns: for how long the present job has been past its deadline; 0 if it
        is not, or if that was told before
    :ivar heard_ns: when it was read, in the host's CLOCK_MONOTONIC
    :ivar delay_ns: from the report to that; None if the server has another clock
    """

    server: str
    record: record.Record
    misses: int
    overruns: int
    late: int
    overdue_ns: int
    heard_ns: int
    delay_ns: int | None


class Activity:
    """Remembers what is known of an activity.

    :param server: its uuid
    :param known: what is not told as new
    """

    def __init__(self, server: str, known: record.Record) -> None:
        self._server = server
        self.record = known
        self._told_began_ns = 0

    def news(self, now: record.Record, looked_ns: int, heard_ns: int,
             same_clock: bool) -> News | None:
        """Return what is new in its record, None if nothing is.

        :param looked_ns: a time before the record was read
        :param heard_ns: a time after that
        """
        before, self.record = self.record, now
        misses = _added(before.misses, now.misses)
        overruns = _added(before.overruns, now.overruns)
        late = misses - self._told_among(misses, now)
        overdue_ns = self._overdue(now, looked_ns if same_clock else now.reported_ns)
        if not (misses or overruns or overdue_ns):
            return None
        delay_ns = heard_ns - now.reported_ns
        return News(self._server, now, misses, overruns, late + bool(overdue_ns), overdue_ns,
                    heard_ns, delay_ns if same_clock and delay_ns >= 0 else None)

    def _told_among(self, misses: int, now: record.Record) -> int:
        """Return how many of these misses were told while they hung: one, or none."""
        if self._told_began_ns in (0, now.began_ns):
            return 0
        # It is over. If its application was killed, it is not among them.
        self._told_began_ns = 0
        return min(misses, 1)

    def _overdue(self, now: record.Record, time_ns: int) -> int:
        late_ns = time_ns - now.began_ns - now.deadline_ns
        if not now.began_ns or late_ns <= 0 or now.began_ns == self._told_began_ns:
            return 0
        self._told_began_ns = now.began_ns
        return late_ns


def _added(before: int, now: int) -> int:
    """Return how much a count has grown; one that begins anew has fallen."""
    return now - before if now >= before else now
