# SPDX-License-Identifier: Apache-2.0
"""What a filter or weigher reads from Nova's scheduler objects."""

from __future__ import annotations

from nova import objects
from nova.scheduler import host_manager
from oslo_log import log as logging

from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares

LOG = logging.getLogger(__name__)

_COUNTED = '_rt_counted'


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
        key, counted, seen = (id(host.stats), wanted), 0, reported_by(host)
    if seen is not None:
        placed = _placed_on(host)
        seen, _ = _fill(host, seen, wanted, placed - counted)
        setattr(host, _COUNTED, (key, placed, seen))
    return seen


def room_on(host: host_manager.HostState, wanted: reservation.Reservation,
            most: int) -> tuple[int, fitting.NoRoomError | None]:
    """Return how many servers of a request a host takes, and then lacks.

    :param most: where to stop counting; what is lacking is None then
    """
    seen = shares_of(host, wanted)
    if seen is None:
        return 0, fitting.NoRoomError(
            wanted.share, lambda: 'no CPU reservations are offered')
    seen, count = _fill(host, seen, wanted, most)
    return count, fitting.shortfall(seen, wanted)


def reported_by(host: host_manager.HostState | objects.ComputeNode,
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


def shortfall(host: str, seen: shares.HostShares | None,
         wanted: reservation.Reservation) -> fitting.NoRoomError | None:
    """Return what a host lacks for a request, None if it lacks nothing.

    :param seen: its bandwidth, None if it offers none
    """
    if seen is None:
        return fitting.NoRoomError(
            wanted.share, lambda: f'{host} offers no CPU reservations')
    why = fitting.shortfall(seen, wanted)
    return why and fitting.NoRoomError(
        why.missing, lambda: f'No room on {host}: {why}')


def _placed_on(host: host_manager.HostState) -> int:
    try:
        return host.num_instances - int(host.stats.get('num_instances', 0))
    except ValueError:
        return 0


def _fill(host: host_manager.HostState, seen: shares.HostShares,
          wanted: reservation.Reservation,
          most: int) -> tuple[shares.HostShares, int]:
    """Place a reservation again and again, as often as it fits or is said."""
    policy = host.stats.get('rt_placement_policy', fitting.DEFAULT)
    for count in range(most):
        try:
            seen = seen.add(wanted, fitting.place(seen, wanted, policy))
        except fitting.NoRoomError:
            return seen, count
    return seen, most
