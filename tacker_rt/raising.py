# SPDX-License-Identifier: Apache-2.0
"""When a VNFC that misses deadlines gets more, when one waits, and when it is healed.

A VNFC's flavor says the most that it may have, and its VDU's hint with how much it begins. It
is raised from there in steps; after each step one waits whether it still misses deadlines.
"""

import dataclasses
import datetime
import enum

from nova_rt import reservation

_SETTLED = 'ACTIVE'
_BROKEN = 'ERROR'


class Step(enum.Enum):
    """What an alert about a VNFC leads to."""

    WAIT = 'wait'
    RAISE = 'raise'
    HEAL = 'heal'


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """What Nova tells of a VNFC's server.

    :ivar status: Nova's word for it
    :ivar busy: whether Nova does something to it
    :ivar has: its reservation, None without one
    :ivar most: what its flavor reserves, None if that is nothing or the flavor is gone
    :ivar asked_at: when more was last asked for, None if never
    """

    status: str
    busy: bool
    has: reservation.Reservation | None
    most: reservation.Reservation | None
    asked_at: datetime.datetime | None


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """What the operator says.

    :ivar percent: by how much of what a server has, one step raises it
    :ivar wait: how long one looks after a step whether it has helped
    """

    percent: int
    wait: datetime.timedelta


def next_step(server: Server, rules: Rules, now: datetime.datetime) -> tuple[Step, int]:
    """Return what to do, and the runtime in µs to raise the server to; 0 if it is not raised.

    HEAL stands for: no larger reservation is to be had.
    """
    if server.status == _BROKEN:
        return Step.HEAL, 0
    if server.busy or server.status != _SETTLED or _is_waited_for(server, rules, now):
        return Step.WAIT, 0
    runtime_us = _raised(server, rules.percent)
    return (Step.RAISE, runtime_us) if runtime_us else (Step.HEAL, 0)


def _is_waited_for(server: Server, rules: Rules, now: datetime.datetime) -> bool:
    # A wrong clock may have written a time to come: that is no time to wait for.
    return server.asked_at is not None and server.asked_at <= now < server.asked_at + rules.wait


def _raised(server: Server, percent: int) -> int:
    """Return the next larger runtime in µs that the flavor allows, 0 if there is none."""
    if server.has is None or server.most is None:
        return 0
    # The bandwidth is what the flavor limits; the server may have another period.
    most_us = server.most.runtime_us * server.has.period_us // server.most.period_us
    step_us = max(1, server.has.runtime_us * percent // 100)
    raised_us = min(server.has.runtime_us + step_us, most_us)
    return raised_us if raised_us > server.has.runtime_us else 0
