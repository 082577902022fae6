# SPDX-License-Identifier: Apache-2.0
"""Tells users whose servers are shrunk for more critical ones, and when that is over."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import time

from nova_rt import bandwidth
from nova_rt.reaction import counts
from nova_rt.virt import host
from nova_rt.virt import shrinks

# How often it is asked whether that is over, as it may end by more than the reactor.
_ASK_S = 1.0


class ShrinkNews:
    """What was told of shrunk servers.

    :param reservations: the host
    :param say: is told of a server, by its uuid, a sentence
    :param for_s: how long a loan lasts without misses
    :param quiet_s: least time between two times that a server is told that it is shrunk
    """

    def __init__(self, reservations: host.Host, say: Callable[[str, str], None],
                 for_s: float, quiet_s: float) -> None:
        self._host = reservations
        self._say = say
        self._for_s = for_s
        self._quiet_s = quiet_s
        # By libvirt's id, whether the user is told of the end, too. What was shrunk before
        # this service started has been told.
        self._known = dict.fromkeys(reservations.shrunk(), True)
        self._told_s: dict[str, float] = {}
        self.next_s = 0.0

    def look(self, names: Mapping[int, str], missed: str | None = None) -> None:
        """Tell what is new.

        :param names: the servers that run, by libvirt's id
        :param missed: the server that was shrunk, and has just missed its own deadlines
        """
        found = self._host.shrunk()
        for number in self._known.keys() - found.keys():
            if self._known.pop(number) and number in names:
                self._say(names[number], 'It has all of its reservation again' + (
                    ', as it missed deadlines itself.' if names[number] == missed else '.'))
        for number in found.keys() - self._known.keys():
            if number in names:
                counts.add(counts.Reaction.SHRINK)
                self._known[number] = self._begin(names[number], found[number])
        self.next_s = time.monotonic() + _ASK_S if found else float('inf')

    def _begin(self, server: str, shrink: shrinks.Shrink) -> bool:
        """Tell that a server is shrunk, if that is not too often; return whether."""
        now_s = time.monotonic()
        if now_s < self._told_s.get(server, 0.0) + self._quiet_s:
            return False
        self._told_s[server] = now_s
        has = min(less for less, freed in zip(
            shrink.less.bandwidths, shrink.freed, strict=True) if freed)
        self._say(server, (
            'A more critical server misses deadlines on its pCPUs: this one has '
            f'{bandwidth.percent(has)} of a CPU for a vCPU there, instead of '
            f'{bandwidth.percent(max(shrink.own.bandwidths))}, until {self._for_s:g} s have '
            'passed without that.'))
        return True

    def forget(self, server: str) -> None:
        """Forget a server that has ended."""
        self._told_s.pop(server, None)
