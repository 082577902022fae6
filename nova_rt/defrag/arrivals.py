# SPDX-License-Identifier: Apache-2.0
"""Lets reservations into hosts, with moves between the pCPUs of these if need be.

Each is quick, and gives the same for the same hosts; None means that nothing was found.
"""

from collections.abc import Mapping

from nova_rt import fitting
from nova_rt import reservation
from nova_rt.defrag import search
from nova_rt.defrag.cloud import Cloud
from nova_rt.defrag.cloud import Host
from nova_rt.defrag.cloud import Step
from nova_rt.defrag.cloud import VCPUMove
from nova_rt.defrag.cloud import Wanted
from nova_rt.defrag.goal import Goal

Steps = tuple[Step, ...]


def room(name: str, host: Host, wanted: reservation.Reservation, most: int) -> Steps | None:
    """Return at most so many moves after which a reservation fits a host."""
    if fitting.shortfall(host.shares, wanted) is None:
        return ()
    if most < 1 or not host.moves or not fitting.fits_in_sum(host.shares, wanted):
        return None
    moves = search.find(host.layout, Goal.room_for(wanted), most)
    return None if moves is None else tuple(VCPUMove(name, move) for move in moves)


def meets(cloud: Cloud, name: str, wanted: Wanted, most: int) -> Steps | None:
    """Return at most so many moves after which a host has what is wanted."""
    host = cloud.hosts[name]
    if not host.has(wanted.needs):
        return None
    return room(name, host, wanted.reservation, most)


def migrate(cloud: Cloud, server: str, source: str, target: str, most: int) -> Steps | None:
    """Return the migration of a server, after moves that let it in; at most so many steps."""
    if most < 1 or not cloud.takes(server, source, target):
        return None
    guest = cloud.hosts[source].guests[server]
    moves = room(target, cloud.hosts[target], guest.holding.reservation, most - 1)
    return None if moves is None else (*moves, cloud.migration(server, source, target))


def migrate_all(cloud: Cloud, targets: Mapping[str, tuple[str, str]], most: int,
                ) -> tuple[Cloud, Steps] | None:
    """Return the cloud after migrations in an order that is possible, and all steps.

    Those that need no moves go first.

    :param targets: by server, the host that it leaves and the one it goes to
    """
    steps: Steps = ()
    waiting = dict(targets)
    while waiting:
        ways = {server: migrate(cloud, server, *way, most - len(steps))
                for server, way in waiting.items()}
        found = [(len(way), server, way) for server, way in ways.items() if way is not None]
        if not found:
            return None
        _, server, way = min(found, key=lambda each: each[:2])
        cloud, steps = cloud.follow(way), (*steps, *way)
        del waiting[server]
    return cloud, steps
