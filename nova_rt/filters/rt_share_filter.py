# SPDX-License-Identifier: Apache-2.0
"""The filter that passes hosts with room for a reservation."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence

from nova import exception
from nova import objects
from nova.scheduler import filters
from nova.scheduler import host_manager
from nova.scheduler import utils
from oslo_log import log as logging

from nova_rt import fitting
from nova_rt import kinds
from nova_rt import moving
from nova_rt import reservation
from nova_rt.filters import hooks
from nova_rt.filters import host_view
from nova_rt.filters import request_filter
from nova_rt.filters import request_state
from nova_rt.instance import request_specs

LOG = logging.getLogger(__name__)


class RTShareFilter(filters.BaseHostFilter):
    """Passes a host if every vCPU finds a pCPU with enough bandwidth left.

    Enough in the sum is not enough: Figure 5 of the OpenStack paper leaves
    130% on four pCPUs, and 75% fits none of them. A scheduler that loads this
    filter also asks Placement for the sum. A host must also take servers of that
    criticality (RT-Kube, Algorithm 1), and not be closed for a while.

    If no host passes, a request for one server passes those that make room
    (``[rt] defrag_on_refusal``) and have enough in the sum: their claim decides.
    """

    def __init__(self) -> None:
        hooks.install_request_filter(request_filter.ask_for_share)
        hooks.install_candidates_search(request_filter.find_candidates)

    def filter_all(self, filter_obj_list: Iterable[host_manager.HostState],
                   spec_obj: objects.RequestSpec) -> Iterable[host_manager.HostState]:
        """Return the hosts that pass.

        :raises NoValidHost: with the smallest shortfall, if this filter rejects
            all hosts that were left and none has passed for another server
            of the request, whose allocation Nova would not release;
            or if not all servers of the request fit
        """
        state = _state_of(spec_obj)
        wanted = state.wanted
        if wanted is None or state.stays:
            return filter_obj_list
        hosts = list(filter_obj_list)
        if utils.request_is_rebuild(spec_obj):
            return _of_kind(hosts, state.kind)
        hosts = _that_take(hosts, state)
        # Whether an allocation may exist by now cannot be seen from the hosts:
        # another filter, such as anti-affinity, may have removed the one chosen.
        first = not state.begun
        count = request_specs.servers(spec_obj)
        if first and count > 1:
            _check_all_fit(hosts, state, wanted, count)
        shortfalls = [_shortfall(host, state, wanted) for host in hosts]
        passed = [host for host, shortfall in zip(hosts, shortfalls, strict=True)
                  if shortfall is None]
        if not passed and count == 1:
            passed = [host for host in hosts if _may_make_room(host, state, wanted)]
        if hosts and not passed and first:
            nearest, _ = min(
                ((host, shortfall.missing) for host, shortfall
                 in zip(hosts, shortfalls, strict=True) if shortfall),
                key=lambda pair: pair[1])
            raise exception.NoValidHost(
                reason=f'{_sentence(nearest, state, wanted)}.')
        if passed:
            state.begun = True
        return passed

    def host_passes(self, host_state: host_manager.HostState,
                    spec_obj: objects.RequestSpec) -> bool:
        """Return whether a host has room."""
        state = _state_of(spec_obj)
        return (state.wanted is None
                or (_refusal(host_state, state) is None
                    and _shortfall(host_state, state, state.wanted) is None))


def _that_take(hosts: Sequence[host_manager.HostState],
               state: request_state.RequestState) -> list[host_manager.HostState]:
    """Return the hosts that take servers of a request's criticality, and any at present.

    :raises NoValidHost: if none does, and no server of the request has been placed
    """
    refusals = [_refusal(host, state) for host in hosts]
    passed = [host for host, refusal in zip(hosts, refusals, strict=True) if refusal is None]
    if hosts and not passed and not state.begun:
        raise exception.NoValidHost(reason=f'{hosts[0].host} {refusals[0]}.')
    return passed


def _refusal(host: host_manager.HostState, state: request_state.RequestState) -> str | None:
    refusal = host_view.refusal(host, state.asked)
    return None if refusal is None else refusal[1]


def _of_kind(hosts: Sequence[host_manager.HostState],
             kind: kinds.Choice | None) -> Sequence[host_manager.HostState]:
    """Return the hosts that can run the image that a server is rebuilt with.

    :raises NoValidHost: if none can
    """
    if kind is None:
        return hosts
    passed = [host for host in hosts if host_view.kind_of(host) in (None, kind.kind)]
    if hosts and not passed:
        raise exception.NoValidHost(
            reason=f'{hosts[0].host} does not run {kind.kind.plural}, but {kind.reason}.')
    return passed


def _state_of(spec: objects.RequestSpec) -> request_state.RequestState:
    try:
        return request_state.of(spec)
    except reservation.InvalidReservationError as exc:
        raise exception.NoValidHost(reason=str(exc)) from None


def _check_all_fit(hosts: Sequence[host_manager.HostState],
                   state: request_state.RequestState,
                   wanted: reservation.Reservation, count: int) -> None:
    """Refuse a request for many servers before the first is placed.

    Nova places all of them or none, and gives no reason when the last one finds
    no host.

    :raises NoValidHost: if they do not all fit
    """
    left = count
    shortfalls = []
    for host in hosts:
        room, shortfall = host_view.room_on(host, state, wanted, left)
        left -= room
        if not left:
            return
        if shortfall is not None:
            shortfalls.append((shortfall.missing, host.host, shortfall))
    if left < count and shortfalls:
        _, name, shortfall = min(shortfalls, key=lambda entry: entry[:2])
        raise exception.NoValidHost(
            reason=f'{count} servers are wanted, but only {count - left} of '
                   f'them fit; then there is no room on {name}: {shortfall}.')


def _shortfall(host: host_manager.HostState, state: request_state.RequestState,
               wanted: reservation.Reservation) -> fitting.NoRoomError | None:
    """Return what a host is short of; its name is added only where it is read."""
    seen = host_view.shares_of(host, state, wanted)
    if seen is None:
        shortfall = host_view.shortfall(host.host, seen, wanted)
    else:
        shortfall = fitting.shortfall(seen, wanted)
    if shortfall is not None and LOG.isEnabledFor(logging.DEBUG):
        LOG.debug('%s', _sentence(host, state, wanted))
    return shortfall


def _may_make_room(host: host_manager.HostState, state: request_state.RequestState,
                   wanted: reservation.Reservation) -> bool:
    """Return whether a host's claim may move others, so that the sum suffices."""
    seen = host_view.shares_of(host, state, wanted)
    return (host_view.moving_on(host) is moving.Moving.REFUSED and seen is not None
            and fitting.fits_in_sum(seen, wanted))


def _sentence(host: host_manager.HostState, state: request_state.RequestState,
              wanted: reservation.Reservation) -> str:
    return str(host_view.shortfall(
        host.host, host_view.shares_of(host, state, wanted), wanted))
