# SPDX-License-Identifier: Apache-2.0
"""Whether a refused server should wait for room, and whether there may be room by now."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator

from nova import context as nova_context
from nova import objects

from nova_rt import fitting
from nova_rt import moving
from nova_rt import reservation
from nova_rt import shortfalls
from nova_rt.explain import collect
from nova_rt.filters import host_view
from nova_rt.instance import request_specs
from nova_rt.view import nodes

# How refusals for lack of bandwidth begin, in filter and request filter.
_OURS = ('No room on ', 'The bandwidth that ')


def is_all_that_lacks(context: nova_context.RequestContext, spec: objects.RequestSpec,
                      reason: str = '') -> bool:
    """Return whether some host takes a refused server once others leave enough bandwidth.

    Nothing else may keep the server from that host, neither filters nor what Placement has
    left: waiting does not mend that. If the reason is bandwidth, there may be room by now.

    :param context: of an administrator
    :param reason: why it was refused, a sentence
    """
    try:
        question = collect.of_request(context, spec)
    except reservation.InvalidReservationError:
        return False
    hosts = named(spec)
    by_now = reason.startswith(_OURS)
    return any(shortfalls.only_room(host, question.request)
               or (by_now and not shortfalls.of_host(host, question.request))
               for host in question.hosts(context) if not hosts or host.name in hosts)


class Look:
    """The hosts as they last reported: no question to scheduler or Placement.

    :param context: of an administrator
    """

    def __init__(self, context: nova_context.RequestContext) -> None:
        self._nodes = [each.node for each in nodes.every(context) if not each.trouble]
        # Hosts to which somebody was sent since, which have not reported that.
        self.sent: set[str] = set()

    def may_fit(self, spec: objects.RequestSpec) -> str:
        """Return what the hosts with room for a server report, empty if there is none."""
        wanted = request_specs.reservation_of(spec)
        if wanted is None:
            return ''
        return _picture(node for node in self._that_take(spec)
                        if node.host not in self.sent and _has_room(node, wanted))

    def picture(self) -> str:
        """Return what all hosts report of their bandwidth."""
        return _picture(self._nodes)

    def may_take(self, host: str | None, spec: objects.RequestSpec) -> bool:
        """Return whether a server might go to a host, if that had room."""
        return any(node.host == host for node in self._that_take(spec))

    def _that_take(self, spec: objects.RequestSpec) -> Iterator[objects.ComputeNode]:
        kind = request_specs.kind_of(spec)
        asked = request_specs.criticality_of(spec, request_specs.reservation_of(spec))
        hosts = named(spec)
        return (node for node in self._nodes
                if (not hosts or node.host in hosts)
                and (kind is None or host_view.kind_of(node) in (None, kind.kind))
                and host_view.refusal(node, asked) is None)


def _picture(hosts: Iterable[objects.ComputeNode]) -> str:
    """Return what hosts report of their bandwidth."""
    return '\n'.join(sorted(f'{node.host} {(node.stats or {}).get("rt_used")}'
                            for node in hosts))


def _has_room(node: objects.ComputeNode, wanted: reservation.Reservation) -> bool:
    reported = host_view.reported_by(node)
    if reported is None:
        return False
    return fitting.shortfall(reported, wanted) is None or (
        # Its claim may move others.
        host_view.moving_on(node) is moving.Moving.REFUSED
        and fitting.fits_in_sum(reported, wanted))


def named(spec: objects.RequestSpec) -> set[str]:
    """Return the hosts that a request names, empty if any will do."""
    named = set(spec.force_hosts or ()) if 'force_hosts' in spec else set()
    destination = spec.requested_destination if 'requested_destination' in spec else None
    if destination is not None and 'host' in destination and destination.host:
        named.add(destination.host)
    return named
