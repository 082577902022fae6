# SPDX-License-Identifier: Apache-2.0
"""What live migrations between hosts let in beside moves on one of them.

Several hosts of equal size; servers arrive and leave as in :mod:`bench.cloud`, and go to the
host that keeps the most on the fullest pCPU that they need. Each has the same memory. Not
among what ``make bench`` compares with aims: ``python -m bench.between`` prints it.
"""

from collections.abc import Iterator
import dataclasses
import heapq
import statistics
import sys

from bench import acceptance
from bench import cloud as arriving
from nova_rt import fitting
from nova_rt import fleet
from nova_rt import ledger
from nova_rt import shares
from nova_rt.defrag import arrivals
from nova_rt.defrag import departures
from nova_rt.defrag import planner
from nova_rt.defrag.cloud import Cloud
from nova_rt.defrag.cloud import Guest
from nova_rt.defrag.cloud import Host
from nova_rt.defrag.cloud import Migration
from nova_rt.defrag.cloud import Wanted
from nova_rt.defrag.limits import Limits

HOSTS = 4
PCPUS = 16
LOAD = 0.7
SERVERS = 2_000
SEEDS = (1, 2, 3)
LIMITS = Limits(steps=8, migrations=2)


@dataclasses.dataclass
class Count:
    """What became of the servers after the first ones."""

    accepted: int = 0
    moves: int = 0
    migrations: int = 0


def placed(policy: str, mix: arriving.Mix, seed: int, way: str) -> Count:
    """Return what becomes of servers.

    :param way: how room is made: not at all, by ``moves`` on one host, or by ``migrations``, too
    """
    names = [f'host{number}' for number in range(HOSTS)]
    now = Cloud({name: Host(shares.HostShares.empty((arriving.CAP,) * PCPUS), {}, policy=policy)
                 for name in names})
    count, going = Count(), [(0.0, '')][:0]
    for number, (time, end, wanted) in enumerate(
            arriving.arrivals(mix, HOSTS * PCPUS, LOAD, SERVERS, seed)):
        while going and going[0][0] <= time:
            now = _without(now, heapq.heappop(going)[1])
        if number == arriving.FIRST:
            count = Count()
        steps = _steps(now, Wanted(wanted, {}, frozenset(names)), way)
        if steps is None:
            continue
        migrations = sum(isinstance(step, Migration) for step in steps)
        count.migrations += migrations
        count.moves += len(steps) - migrations
        now = now.follow(steps)
        host = max((name for name in names
                    if fitting.shortfall(now.hosts[name].shares, wanted) is None),
                   key=lambda name: fleet.headroom(now.hosts[name].shares, wanted))
        now = dataclasses.replace(now, hosts={**now.hosts, host: now.hosts[host].with_guest(
            str(number), Guest(ledger.Holding(wanted, ())))})
        count.accepted += 1
        heapq.heappush(going, (end, str(number)))
    return count


def _steps(now: Cloud, wanted: Wanted, way: str) -> arrivals.Steps | None:
    """Return what makes room, None if nothing does."""
    if any(wanted.fits(host) for host in now.hosts.values()):
        return ()
    if way == 'none':
        return None
    for name in now.hosts:
        moves = arrivals.meets(now, name, wanted, planner.AT_CLAIM)
        if moves is not None:
            return moves
    return departures.find(now, wanted, LIMITS) if way == 'migrations' else None


def _without(now: Cloud, server: str) -> Cloud:
    name = next(name for name, host in now.hosts.items() if server in host.guests)
    return dataclasses.replace(now, hosts={**now.hosts, name: now.hosts[name].without(server)})


def lines() -> Iterator[str]:
    """Yield what is accepted in percent, and the moves and migrations for 100 servers."""
    measured = SERVERS - arriving.FIRST
    for mix in (acceptance.MIXED, acceptance.LARGE):
        for policy in (fitting.DEFAULT, 'best-fit'):
            for way in ('none', 'moves', 'migrations'):
                counts = [placed(policy, mix, seed, way) for seed in SEEDS]
                accepted, moves, migrations = (
                    statistics.median(100 * getattr(count, name) / measured for count in counts)
                    for name in ('accepted', 'moves', 'migrations'))
                yield (f'{mix.name}, {policy}, {way}: {accepted:.1f}% accepted, '
                       f'{moves:.1f} moves and {migrations:.1f} migrations for 100')


if __name__ == '__main__':
    for line in lines():
        sys.stdout.write(f'{line}\n')
        sys.stdout.flush()
