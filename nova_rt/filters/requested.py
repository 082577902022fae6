# SPDX-License-Identifier: Apache-2.0
"""What a filter or weigher reads from Nova's scheduler objects."""

from __future__ import annotations

from nova import context as nova_context
from nova import objects
from nova.scheduler import host_manager
from nova.scheduler.client import report
from oslo_log import log as logging

from nova_rt import policies
from nova_rt import reservation
from nova_rt import shares

LOG = logging.getLogger(__name__)

_COUNTED = '_rt_counted'


def wanted_by(spec: objects.RequestSpec) -> reservation.Reservation | None:
    """Return the reservation that a request asks for, None without one.

    :raises InvalidReservation: if it cannot be
    """
    flavor = spec.flavor
    return reservation.requested(
        flavor.extra_specs if 'extra_specs' in flavor else {},
        spec.scheduler_hints or {}, flavor.vcpus)


def servers(spec: objects.RequestSpec) -> int:
    """Return how many servers a request wants placed.

    The number in the request is that of its first scheduling: a server that
    is moved later is one.
    """
    return 1 if moved(spec) else spec.num_instances


def moved(spec: objects.RequestSpec) -> objects.Destination | None:
    """Return where a server that is there already may go, None of a new one.

    Nova names the cell that it is in.
    """
    destination = ('requested_destination' in spec
                   and spec.requested_destination)
    known = destination and 'cell' in destination and destination.cell
    return destination if known else None


def shares_of(host: host_manager.HostState,
              wanted: reservation.Reservation) -> shares.HostShares | None:
    """Return a host's bandwidth as this request sees it.

    Servers that this request has already placed on the host are counted:
    they all want the same. Nova makes a HostState for every request, which
    keeps what was counted: a request may be for a thousand servers.

    :returns: None if the host offers no reservations or says so in a way
        that cannot be read
    """
    key, counted, seen = getattr(host, _COUNTED, (None, 0, None))
    if key != (id(host.stats), wanted):
        key, counted, seen = (id(host.stats), wanted), 0, told_by(host)
    if seen is not None:
        placed = _placed_on(host)
        seen, _ = _fill(host, seen, wanted, placed - counted)
        setattr(host, _COUNTED, (key, placed, seen))
    return seen


def room_on(host: host_manager.HostState, wanted: reservation.Reservation,
            most: int) -> tuple[int, policies.NoRoom | None]:
    """Return how many servers of a request a host takes, and then lacks.

    :param most: where to stop counting; what is lacking is None then
    """
    seen = shares_of(host, wanted)
    if seen is None:
        return 0, policies.NoRoom(
            wanted.share, lambda: 'no CPU reservations are offered')
    seen, count = _fill(host, seen, wanted, most)
    return count, policies.miss(seen, wanted)


def told_by(host: host_manager.HostState | objects.ComputeNode,
            ) -> shares.HostShares | None:
    """Return the bandwidth that a host tells of, None if it offers none.

    None too if it says so in a way that cannot be read, which is logged.
    """
    try:
        told = shares.from_stats(host.stats or {})
    except (KeyError, ValueError) as why:
        LOG.warning('What %s tells of its bandwidth cannot be read: %s',
                    host.host, why)
        return None
    return told if told and any(told.capacity) else None


def miss(host: str, seen: shares.HostShares | None,
         wanted: reservation.Reservation) -> policies.NoRoom | None:
    """Return what a host lacks for a request, None if it lacks nothing.

    :param seen: its bandwidth, None if it offers none
    """
    if seen is None:
        return policies.NoRoom(
            wanted.share, lambda: f'{host} offers no CPU reservations')
    why = policies.miss(seen, wanted)
    return why and policies.NoRoom(
        why.missing, lambda: f'No room on {host}: {why}')


def left(client: report.SchedulerReportClient,
         context: nova_context.RequestContext,
         provider: str) -> dict[str, int]:
    """Return what Placement may still promise of a host.

    Nothing of the share without the trait, which is asked for too.
    """
    def ask(what: str) -> dict:
        answer = client.get(f'/resource_providers/{provider}/{what}',
                            version='1.9', global_request_id=context.global_id)
        return answer.json() if answer else {}
    used = ask('usages').get('usages', {})
    left = {
        name: int((each['total'] - each['reserved'])
                  * each['allocation_ratio']) - used.get(name, 0)
        for name, each in ask('inventories').get('inventories', {}).items()}
    if shares.TRAIT not in ask('traits').get('traits', ()):
        left.pop(shares.RESOURCE_CLASS, None)
    return left


def _placed_on(host: host_manager.HostState) -> int:
    try:
        return host.num_instances - int(host.stats.get('num_instances', 0))
    except ValueError:
        return 0


def _fill(host: host_manager.HostState, seen: shares.HostShares,
          wanted: reservation.Reservation,
          most: int) -> tuple[shares.HostShares, int]:
    """Place a reservation again and again, as often as it fits or is said."""
    policy = host.stats.get('rt_placement_policy', policies.DEFAULT)
    for count in range(most):
        try:
            seen = seen.add(wanted, policies.place(seen, wanted, policy))
        except policies.NoRoom:
            return seen, count
    return seen, most
