# SPDX-License-Identifier: Apache-2.0
"""Resizes that need no restart: the server stays, and asks for the difference.

While a server is resized, Placement has its old allocation under the migration
and is asked for a new one, so that both count. A change in place never has both:
where there is no room for both, its host is asked for the difference only.
"""

from __future__ import annotations

from collections.abc import Mapping
import math

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import task_states
from oslo_log import log as logging

from nova_rt import allocations
from nova_rt import fitting
from nova_rt import reservation
from nova_rt import shares
from nova_rt.filters import host_view
from nova_rt.filters import request_state
from nova_rt.instance import flavors
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import request_specs

LOG = logging.getLogger(__name__)

_BASIC = ('VCPU', 'MEMORY_MB', 'DISK_GB')
_ATTRIBUTES = ('flavor', 'system_metadata', 'pci_requests', 'numa_topology',
               'resources')


def ask_to_stay(context: nova_context.RequestContext,
                state: request_state.RequestState,
                wanted: reservation.Reservation) -> None:
    """Ask the server's host alone if the server can be changed there.

    Every other request is left as it is.
    """
    spec = state.spec
    destination = request_specs.moved(spec)
    if (destination is None or ('host' in destination and destination.host)
            or _asks_for_more(spec)):
        return
    resized = _resized(context, spec, destination)
    if resized is None:
        return
    instance, node = resized
    holding = holdings.holding_of(instance)
    reported = host_view.reported_by(node)
    if (holding is None or reported is None
            or 'rt_in_place' not in (node.stats or {})):
        # The host offers none, or its nova-rt-compute is older than this.
        return
    left = allocations.PlacementClient(context).left(node.uuid)
    more = max(wanted.share - holding.reservation.share, 0)
    if left.get(shares.RESOURCE_CLASS, 0) < more:
        return
    try:
        fitting.check_in_place(
            reported, holding.reservation, holding.pcpus, wanted)
    except fitting.NoRoomError as exc:
        LOG.debug('Not in place: %s', exc)
        return
    destination.host = node.host
    destination.node = node.hypervisor_hostname
    if not _fits_besides(spec.flavor, left):
        _ask_for_difference(spec.flavor, left, more)
    state.stays = True


def _resized(context: nova_context.RequestContext, spec: objects.RequestSpec,
             destination: objects.Destination,
             ) -> tuple[objects.Instance, objects.ComputeNode] | None:
    """Return the server and its host if it could be resized in place."""
    with nova_context.target_cell(context, destination.cell) as cell:
        try:
            instance = objects.Instance.get_by_uuid(
                cell, spec.instance_uuid, list(_ATTRIBUTES))
            if (instance.task_state != task_states.RESIZE_PREP
                    or instance.host in (spec.ignore_hosts or ())
                    or not in_place.possible(
                        instance, flavors.merged(spec.flavor, spec))
                    or objects.Service.get_by_compute_host(
                        cell, instance.host).disabled):
                return None
            return instance, objects.ComputeNode.get_by_host_and_nodename(
                cell, instance.host, instance.node)
        except (exception.InstanceNotFound, exception.ComputeHostNotFound):
            return None


def _asks_for_more(spec: objects.RequestSpec) -> bool:
    """Return whether a request is for anything that only Nova can count."""
    return bool('requested_resources' in spec and spec.requested_resources) \
        or any(name.startswith('resources') and name != shares.EXTRA_SPEC
               for name in spec.flavor.extra_specs)


def _ask_for_difference(flavor: objects.Flavor, left: Mapping[str, int],
                        more: int) -> None:
    amounts = dict.fromkeys(_BASIC, 0) | {shares.RESOURCE_CLASS: more}
    if not more:
        # Placement has to be asked for something. What it is does not matter:
        # nova-rt-compute makes one allocation of it and the old one.
        amounts[max(amounts, key=lambda name: left.get(name, 0))] = 1
    flavor.extra_specs |= {
        f'resources:{name}': str(amount) for name, amount in amounts.items()}


def _fits_besides(flavor: objects.Flavor, left: Mapping[str, int]) -> bool:
    """Return whether the host has room for all that Nova asks for."""
    needs = {
        'VCPU': flavor.vcpus, 'MEMORY_MB': flavor.memory_mb,
        'DISK_GB': (flavor.root_gb + flavor.ephemeral_gb
                    + math.ceil(flavor.swap / 1024)),
        shares.RESOURCE_CLASS: int(flavor.extra_specs[shares.EXTRA_SPEC])}
    return all(left.get(name, 0) >= needed for name, needed in needs.items())
