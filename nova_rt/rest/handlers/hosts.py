# SPDX-License-Identifier: Apache-2.0
"""Hosts, and who holds what on one."""

from __future__ import annotations

from nova import exception

from nova_rt import shares
from nova_rt.rest import errors
from nova_rt.rest import microversions
from nova_rt.rest.endpoints import Call
from nova_rt.rest.endpoints import Json
from nova_rt.rest.handlers import common
from nova_rt.view import hosts
from nova_rt.view import nodes

# A host without reservations, in numbers.
_NOTHING = shares.HostShares.empty(())


def list_hosts(call: Call) -> Json:
    """Return a page of hosts."""
    try:
        page = nodes.page(call.admin, call.query['limit'], call.query.get('marker'))
    except nodes.UnknownMarkerError:
        raise errors.RefusedError(
            'No host has the uuid that the marker names: begin without one.') from None
    found = [hosts.of_node(each) for each in page.nodes]
    return {'hosts': [_host(call, host) for host in found],
            'next': found[-1].uuid if page.more else None,
            'unreachable_cells': page.unreachable}


def show_host(call: Call) -> Json:
    """Return a host, pCPU by pCPU, and who holds what on it."""
    host, held = named(call)
    return {**_host(call, host), 'pcpus': _pcpus(host.reported or _NOTHING),
            'holdings': [{
                'server': each.server, 'name': each.name, 'project_id': each.project,
                'reservation': common.of_reservation(each.holding.reservation),
                'pcpus': list(each.holding.pcpus)} for each in held]}


def named(call: Call) -> tuple[hosts.Host, list[hosts.Held]]:
    """Return the host that the path names, and all that servers hold on it.

    :raises NotFoundError: if there is none
    """
    name = call.named['host']
    try:
        return hosts.one(call.admin, name)
    except (exception.HostMappingNotFound, exception.ComputeHostNotFound):
        raise common.unknown_host(name) from None


def _host(call: Call, host: hosts.Host) -> Json:
    reported = host.reported or _NOTHING
    shown: Json = {'uuid': host.uuid, 'host': host.name, 'kind': common.of_kind(host.kind),
            'dialect': host.dialect, 'placement_policy': host.policy,
            'trouble': host.trouble, 'cap': max(reported.capacity, default=0),
            'share': reported.rt_share, 'share_used': reported.rt_share_used,
            'pcpus_offered': sum(map(bool, reported.capacity)),
            'most_left': max(_left(reported), default=0)}
    if microversions.has(call.version, '1.4'):
        shown['criticalities'] = [each.name for each in sorted(host.criticalities)]
    return shown


def _left(reported: shares.HostShares) -> list[int]:
    return [left for left, capacity
            in zip(reported.left, reported.capacity, strict=True) if capacity]


def _pcpus(reported: shares.HostShares) -> list[Json]:
    return [{'pcpu': pcpu, 'capacity': capacity, 'used': used, 'left': left}
            for pcpu, (capacity, used, left) in enumerate(zip(
                reported.capacity, reported.used, reported.left, strict=True))
            if capacity]
