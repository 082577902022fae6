# SPDX-License-Identifier: Apache-2.0
"""Finds cheap migrations that make room on some host, without certainty.

The cheapest first: it takes servers from a host that could have the room, each to a host
that has room for it, after moves there if need be, or after one server there has gone to
a third. It gives up after a number of looks, so the same cloud gives the same plan if it has
the time that this takes.
"""

from collections.abc import Iterator
import dataclasses
import heapq
import itertools
import math
import time

from nova_rt.defrag import arrivals
from nova_rt.defrag import cloud as clouds
from nova_rt.defrag.arrivals import Steps
from nova_rt.defrag.cloud import Cloud
from nova_rt.defrag.cloud import Host
from nova_rt.defrag.cloud import Wanted
from nova_rt.defrag.limits import Limits

# A look takes some milliseconds on 64 pCPUs.
LOOKS = 300
# How many hosts are tried for a server, and how many servers to push away for it.
_WIDTH = 3


@dataclasses.dataclass(frozen=True, slots=True)
class _Node:
    """The cloud after steps that have freed bandwidth on a host."""

    cloud: Cloud
    host: str
    steps: Steps
    migrated: frozenset[str]


def find(cloud: Cloud, wanted: Wanted, limits: Limits, looks: int = LOOKS,
         ends: float = math.inf) -> Steps | None:
    """Return the cheapest steps that were found, None if none were.

    :param looks: after how many looks at a host to give up
    :param ends: when to give up at the latest, by the monotonic clock
    """
    if any(wanted.fits(cloud.hosts[name]) for name in wanted.hosts):
        return ()
    numbers = itertools.count()
    queue = [(0, _promise(cloud.hosts[name], wanted), next(numbers),
              _Node(cloud, name, (), frozenset())) for name in sorted(wanted.hosts)]
    heapq.heapify(queue)
    best: Steps | None = None
    seen: set[tuple[str, frozenset[str]]] = set()
    while queue and looks and time.monotonic() < ends:
        cost, _, _, node = heapq.heappop(queue)
        if best is not None and cost >= clouds.cost(best):
            break
        looks -= 1
        rest = limits.steps - len(node.steps)
        moves = arrivals.meets(node.cloud, node.host, wanted, rest)
        if moves is not None:
            found = (*node.steps, *moves)
            if best is None or clouds.cost(found) < clouds.cost(best):
                best = found
            continue
        for following in _following(node, limits, ends):
            key = following.host, following.migrated
            if key not in seen:
                seen.add(key)
                heapq.heappush(queue, (
                    clouds.cost(following.steps),
                    _promise(following.cloud.hosts[following.host], wanted), next(numbers),
                    following))
    return best


def _promise(host: Host, wanted: Wanted) -> int:
    """Return a number that is small where much is left on as many pCPUs as are wanted."""
    return -sum(sorted(host.shares.left)[-wanted.reservation.vcpus:])


def _following(node: _Node, limits: Limits, ends: float) -> Iterator[_Node]:
    """Yield what follows when one more server has left the host."""
    migrations = limits.migrations - len(node.migrated)
    rest = limits.steps - len(node.steps)
    for server in node.cloud.hosts[node.host].guests if migrations > 0 else ():
        if time.monotonic() >= ends:
            return
        ways = list(itertools.islice(_ways(node.cloud, server, node.host, rest, ends), _WIDTH))
        if not ways and migrations > 1:
            ways = list(itertools.islice(
                _ways_after_another(node.cloud, server, node.host, rest, ends), _WIDTH))
        for way in ways:
            gone = {step.server for step in way if isinstance(step, clouds.Migration)}
            yield _Node(node.cloud.follow(way), node.host, (*node.steps, *way),
                        node.migrated | gone)


def _ways(cloud: Cloud, server: str, source: str, most: int, ends: float) -> Iterator[Steps]:
    """Yield how a server may leave its host, with no moves before those with some.

    Moves are looked for on few hosts, as that takes long.
    """
    targets = [target for target in _emptiest_first(cloud, source)
               if cloud.takes(server, source, target)]
    full = []
    for target in targets:
        if time.monotonic() >= ends:
            return
        way = arrivals.migrate(cloud, server, source, target, 1)
        if way is None:
            full.append(target)
        else:
            yield way
    ways = [arrivals.migrate(cloud, server, source, target, most) for target in full[:_WIDTH]]
    yield from sorted((way for way in ways if way is not None), key=len)


def _ways_after_another(cloud: Cloud, server: str, source: str, most: int, ends: float,
                        ) -> Iterator[Steps]:
    """Yield how a server may leave its host after one has left its target; cheapest first."""
    pushed = [(cloud.migration(other, target, '').cost, other, target)
              for target in cloud.hosts if target != source
              for other, guest in cloud.hosts[target].guests.items() if guest.migrates]
    for _, other, target in heapq.nsmallest(_WIDTH * 8, pushed):
        if time.monotonic() >= ends:
            return
        first = next((way for way in _ways(cloud, other, target, most - 1, ends)
                      if source not in (step.target for step in way
                                        if isinstance(step, clouds.Migration))), None)
        if first is not None:
            second = arrivals.migrate(
                cloud.follow(first), server, source, target, most - len(first))
            if second is not None:
                yield (*first, *second)


def _emptiest_first(cloud: Cloud, source: str) -> list[str]:
    return sorted((name for name, host in cloud.hosts.items()
                   if name != source and host.open),
                  key=lambda name: (-sum(cloud.hosts[name].shares.left), name))
