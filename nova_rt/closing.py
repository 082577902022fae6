# SPDX-License-Identifier: Apache-2.0
"""Hosts that take no new servers for a while, as a server was stopped there for another.

RT-Kube taints such a node (section IV-C): whoever came next would take the room that was made.
"""

import time

LONGEST_S = 86400.0
"""For how long at most a host is closed."""

# By which the clocks of hosts and schedulers may differ.
_DIFFER_S = 60.0

STAT = 'rt_closed_until'
"""Under which name a host reports it."""


def to_stat(until_s: float | None) -> str:
    """Return until when a host is closed, as it reports that; empty if it is open.

    :param until_s: by the clock of the wall
    """
    return '' if until_s is None else str(int(until_s))


def from_stat(stat: str | None) -> float | None:
    """Return until when a host is closed, None if it does not say.

    :raises ValueError: if it says anything else than a time
    """
    return float(stat) if stat else None


def lasts(until_s: float, now_s: float) -> bool:
    """Return whether a time is still to come; what a wrong clock has written never is."""
    return now_s < until_s <= now_s + LONGEST_S + _DIFFER_S


def refusal(until_s: float | None) -> str | None:
    """Return why a host takes no new server now, a clause; None if it does."""
    if until_s is None or not lasts(until_s, time.time()):
        return None
    return f'takes no new servers until {clock(until_s)}, as servers on it missed deadlines'


def clock(time_s: float) -> str:
    """Return a time of the next hours, for sentences."""
    return time.strftime('%H:%M:%S UTC', time.gmtime(time_s))
