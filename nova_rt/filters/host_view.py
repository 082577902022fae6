# SPDX-License-Identifier: Apache-2.0
"""A host as a filter or weigher sees it: what it reported, and what fits."""

from __future__ import annotations

from collections.abc import Mapping

from nova import objects
from nova.scheduler import host_manager
from oslo_log import log as logging

from nova_rt import closing
from nova_rt import criticality
from nova_rt import fitting
from nova_rt import kinds
from nova_rt import moving
from nova_rt import reservation
from nova_rt import shares
from nova_rt.filters import request_state

LOG = logging.getLogger(__name__)


def shares_of(host: host_manager.HostState, state: request_state.RequestState,
              wanted: reservation.Reservation) -> shares.HostShares | None:
    """Return a host's bandwidth as a request sees it.

    Servers that the request has already placed on the host are counted: they
    all want the same. A request may be for a thousand servers, so what was
    counted is kept with it.

    :returns: None if the host offers no reservations, or reports them in a
        form that cannot be read
    """
    stats = _stats_of(host)
    reported = stats.get('rt_used'), stats.get('rt_capacity'), stats.get('rt_sizes')
    key = host.host, host.nodename
    placed = _placed_on(host)
    counted = state.hosts.get(key)
    if (counted is None or counted.reported != reported
            or counted.placed > placed):
        counted = state.hosts[key] = request_state.CountedHost(
            reported, 0, reported_by(host))
    if counted.seen is not None and placed > counted.placed:
        counted.seen, _ = fitting.fill(
            counted.seen, wanted, policy_of(host), placed - counted.placed)
        counted.placed = placed
    return counted.seen


def room_on(host: host_manager.HostState, state: request_state.RequestState,
            wanted: reservation.Reservation,
            most: int) -> tuple[int, fitting.NoRoomError | None]:
    """Return how many servers of a request a host takes, and its shortfall then.

    :param most: where to stop counting; there is no shortfall then
    """
    seen = shares_of(host, state, wanted)
    if seen is None:
        return 0, fitting.NoRoomError(
            wanted.share, lambda: 'no CPU reservations are offered')
    seen, count = fitting.fill(seen, wanted, policy_of(host), most)
    return count, fitting.shortfall(seen, wanted)


def reported_by(host: host_manager.HostState | objects.ComputeNode,
                ) -> shares.HostShares | None:
    """Return the bandwidth that a host reports, None if it offers none.

    None as well if it is reported in a form that cannot be read, which is logged.
    """
    try:
        reported = shares.from_stats(_stats_of(host))
    except (KeyError, ValueError) as exc:
        LOG.warning('The bandwidth that %s reports cannot be read: %s',
                    host.host, exc)
        return None
    return reported if reported and any(reported.capacity) else None


def kind_of(host: host_manager.HostState | objects.ComputeNode) -> kinds.Kind | None:
    """Return the kind of server that a host runs, None if it does not say."""
    return kinds.of_host(_stats_of(host).get('rt_dialect'), host.hypervisor_type)


def policy_of(host: host_manager.HostState | objects.ComputeNode) -> str:
    """Return the placement policy of a host."""
    return _stats_of(host).get('rt_placement_policy') or fitting.DEFAULT


def criticalities_on(host: host_manager.HostState | objects.ComputeNode,
                     ) -> frozenset[criticality.Criticality]:
    """Return the criticalities of the servers that a host takes.

    None of them if it reports them in a form that cannot be read, which is logged.
    """
    try:
        return criticality.from_stat(_stats_of(host).get(criticality.STAT))
    except KeyError as exc:
        LOG.warning('The criticalities that %s reports cannot be read: %s', host.host, exc)
        return frozenset()


def closed_until(host: host_manager.HostState | objects.ComputeNode) -> float | None:
    """Return until when a host takes no new servers, None if it does not say."""
    try:
        return closing.from_stat(_stats_of(host).get(closing.STAT))
    except ValueError as exc:
        LOG.warning('Until when %s is closed cannot be read: %s', host.host, exc)
        return None


def refusal(host: host_manager.HostState | objects.ComputeNode,
            asked: criticality.Criticality | None) -> tuple[str, str] | None:
    """Return why a host takes no server that asks for a criticality; None if it does.

    :returns: a word on what, and a clause
    """
    of_criticality = criticality.refusal(criticalities_on(host), asked)
    if of_criticality is not None:
        return 'criticality', of_criticality
    closed = closing.refusal(closed_until(host))
    return None if closed is None else ('closed', closed)


def moving_on(host: host_manager.HostState | objects.ComputeNode) -> moving.Moving:
    """Return when a host moves vCPUs between its pCPUs."""
    try:
        return moving.Moving(_stats_of(host).get(moving.STAT))
    except ValueError:
        return moving.Moving.NEVER


def shortfall(host: str, seen: shares.HostShares | None,
              wanted: reservation.Reservation) -> fitting.NoRoomError | None:
    """Return what a host is short of for a reservation, None if it fits.

    :param seen: its bandwidth, None if it offers none
    """
    if seen is None:
        return fitting.NoRoomError(
            wanted.share, lambda: f'{host} offers no CPU reservations')
    missing = fitting.shortfall(seen, wanted)
    return missing and fitting.NoRoomError(
        missing.missing, lambda: f'No room on {host}: {missing}')


def _stats_of(host: host_manager.HostState | objects.ComputeNode) -> Mapping[str, str]:
    # Nova gives a host state none before its compute node has reported for the first time.
    return getattr(host, 'stats', None) or {}


def _placed_on(host: host_manager.HostState) -> int:
    try:
        return host.num_instances - int(_stats_of(host).get('num_instances', 0))
    except ValueError:
        return 0
