# SPDX-License-Identifier: Apache-2.0
"""The filter that passes hosts with room for a reservation."""

import weakref

from nova import exception
from nova.scheduler import filters
from nova.scheduler import utils
from oslo_log import log as logging

from nova_rt import reservation
from nova_rt.filters import hooks
from nova_rt.filters import host_view
from nova_rt.filters import in_place_resize
from nova_rt.filters import request_filter
from nova_rt.instance import request_specs

LOG = logging.getLogger(__name__)


class RTShareFilter(filters.BaseHostFilter):
    """Passes a host if every vCPU finds a pCPU with enough bandwidth left.

    Enough in the sum is not enough: Figure 5 of the OpenStack paper leaves
    130% on four pCPUs, and 75% fits none of them. That Placement is asked for
    the sum is for this filter to see to: a scheduler that loads it asks.
    """

    def __init__(self):
        hooks.install_request_filter(request_filter.ask_for_share)
        hooks.install_candidates_search(request_filter.find_candidates)
        # Requests of which a server may hold an allocation by now. What this
        # filter sees does not tell: another, such as anti-affinity, may have
        # taken out the host that was chosen.
        self._begun = weakref.WeakSet()

    def filter_all(self, filter_obj_list, spec_obj):
        """Return the hosts that pass.

        :raises NoValidHost: with the nearest miss, if this filter rejects
            all hosts that were left and none has passed for another server
            of the request, whose allocation Nova would not release;
            or if not all servers of the request fit
        """
        wanted = _wanted_by(spec_obj)
        if (wanted is None or utils.request_is_rebuild(spec_obj)
                or in_place_resize.stays(spec_obj)):
            return filter_obj_list
        hosts = list(filter_obj_list)
        first = spec_obj not in self._begun
        if first and request_specs.servers(spec_obj) > 1:
            _check_all_fit(hosts, wanted, request_specs.servers(spec_obj))
        misses = [_miss(host, wanted) for host in hosts]
        passed = [host for host, miss in zip(hosts, misses, strict=True)
                  if miss is None]
        if hosts and not passed and first:
            nearest = min(misses, key=lambda miss: miss.missing)
            raise exception.NoValidHost(reason=f'{nearest}.')
        if passed:
            self._begun.add(spec_obj)
        return passed

    def host_passes(self, host_state, spec_obj):
        """Return whether a host has room."""
        wanted = _wanted_by(spec_obj)
        return wanted is None or _miss(host_state, wanted) is None


def _wanted_by(spec_obj):
    try:
        return request_specs.reservation_of(spec_obj)
    except reservation.InvalidReservationError as why:
        raise exception.NoValidHost(reason=str(why)) from None


def _check_all_fit(hosts, wanted, count):
    """Refuse a request for many servers before the first is placed.

    Nova places all of them or none, and tells nothing when the last one finds
    no host.

    :raises NoValidHost: if they do not all fit
    """
    left = count
    misses = []
    for host in hosts:
        room, miss = host_view.room_on(host, wanted, left)
        left -= room
        if not left:
            return
        misses.append((miss.missing, f'there is no room on {host.host}: '
                                     f'{miss}'))
    if left < count:
        raise exception.NoValidHost(
            reason=f'{count} servers are wanted, but only {count - left} of '
                   f'them fit; then {min(misses)[1]}.')


def _miss(host, wanted):
    miss = host_view.shortfall(
        host.host, host_view.shares_of(host, wanted), wanted)
    if miss is not None:
        LOG.debug('%s', miss)
    return miss
