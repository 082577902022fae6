# SPDX-License-Identifier: Apache-2.0
"""A host's pCPUs as bars: where each part begins, how wide it is, and the same in words.

Pure; the template draws it. Positions are in thousandths of a CPU, and whole numbers, as
templates write fractions by the language's rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import zlib

from nova_rt import bandwidth
from nova_rt.sdk.answers import Json

WIDTH = 1000
COLOURS = ('#27649b', '#b0532c', '#6a4c93', '#2a7f62', '#a8324e', '#7a6a1f', '#3b6f8f',
           '#8a4f7d')
"""Of servers. Two may have the same: the words beside a bar tell which is which."""

_OF_KIND = {'left': '#d9ead3', 'others': '#999'}


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar.

    :ivar kind: held, others (what reservations of other pCPUs occupy, or servers held that
        have just gone) or left
    :ivar share: in percent of a CPU
    :ivar server: the uuid of who holds it; empty if that is no server
    :ivar colour: always the same for a server
    """

    kind: str
    name: str
    share: str
    x: int
    width: int
    server: str = ''
    colour: str = ''

    @property
    def text(self) -> str:
        """The part in words."""
        return f'{self.name} {self.share}'


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """A pCPU, or a whole host.

    :ivar cap: the most that it offers, in percent of a CPU
    """

    pcpu: int
    parts: tuple[Part, ...]
    cap: str

    @property
    def text(self) -> str:
        """The bar in words, which stand beside it."""
        return f'{", ".join(part.text for part in self.parts)}, cap {self.cap}'


def bars(pcpus: Iterable[Json], holdings: Iterable[Json]) -> list[Bar]:
    """Return a bar for each pCPU that a host offers; both are as the API has them."""
    holdings = list(holdings)
    return [_bar(pcpu, holdings) for pcpu in pcpus]


def filled(used: int, share: int) -> int:
    """Return how much of a bar of WIDTH what is used takes; 0 of a host without a share."""
    return min(WIDTH, max(0, used * WIDTH // share)) if share else 0


def _bar(pcpu: Json, holdings: Iterable[Json]) -> Bar:
    pieces = [('held', each['name'] or each['server'], each['server'],
               each['reservation']['bandwidth'])
              for each in holdings if pcpu['pcpu'] in each['pcpus']]
    free = pcpu['capacity'] - sum(share for *_, share in pieces)
    # Who holds what is as of now, what the host has reported may be a minute old. Nothing is
    # left, and not less, if the cap was lowered below what is reserved.
    left = max(min(pcpu['left'], free), 0)
    if free > left:
        pieces.append(('others', 'others', '', free - left))
    pieces.append(('left', 'left', '', left))
    return Bar(pcpu['pcpu'], tuple(_placed(pieces)), bandwidth.percent(pcpu['capacity']))


def _placed(pieces: Iterable[tuple[str, str, str, int]]) -> Iterator[Part]:
    """Yield the pieces beside each other; each ends where it would without rounding."""
    begin = 0
    for kind, name, server, share in pieces:
        x, end = _thousandths(begin), _thousandths(begin + share)
        yield Part(kind, name, bandwidth.percent(share), x, end - x, server,
                   _OF_KIND.get(kind) or COLOURS[zlib.crc32(server.encode()) % len(COLOURS)])
        begin += share


def _thousandths(share: int) -> int:
    return round(share * WIDTH / bandwidth.BW_UNIT)
