# SPDX-License-Identifier: Apache-2.0
"""Makes room for a critical server that waits, from what elastic ones can do without.

Their reservations are changed in place, as an administrator would change them: in the kernel,
the ledger, Nova and Placement. The ordinary scheduling decides afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses

from nova import context as nova_context
from nova import exception
from nova import objects
from nova.compute import vm_states
from oslo_config import cfg
from oslo_log import log as logging

from nova_rt import allocations
from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt import shortfalls
from nova_rt.conductor import room
from nova_rt.conductor import victims
from nova_rt.explain import collect
from nova_rt.instance import actions
from nova_rt.instance import compute_call
from nova_rt.instance import flavors
from nova_rt.instance import hint_update
from nova_rt.instance import holdings
from nova_rt.instance import in_place
from nova_rt.instance import preempted
from nova_rt.instance import request_specs
from nova_rt.instance import residents
from nova_rt.view import hosts

LOG = logging.getLogger(__name__)
CONF = cfg.CONF

_ACTION = 'rt_preempt'
# How often it is tried without those that were not shrunk.
_TRIES = 3
# In which a reservation can be changed in place.
_CHANGED_IN = (vm_states.ACTIVE, vm_states.STOPPED)
_REFUSED = (compute_call.RefusedError, reservation.InvalidReservationError, exception.NotFound)


def is_wanted() -> bool:
    """Return whether the operator wants room to be made."""
    return str(CONF.rt.preempt) == 'elastic'


def make_room(context: nova_context.RequestContext, spec: objects.RequestSpec,
              still: Callable[[], None]) -> list[str] | None:
    """Shrink elastic servers of lower criticality on one host, so that another fits there.

    If one is not shrunk, those that are have it back, and it is done without that one.

    :param context: of an administrator
    :param spec: of the server that is to fit
    :param still: called before each step; raises if the server is not ours to place any more
    :returns: those that are shrunk now; None if there is no way
    """
    wanted = request_specs.reservation_of(spec)
    asked = request_specs.criticality_of(spec, wanted)
    if wanted is None or asked is None or (
            'requested_resources' in spec and spec.requested_resources):
        # Where ports and devices may go, only the scheduler knows.
        return None
    refused: set[str] = set()
    for _ in range(_TRIES):
        choices = dict(_choices(context, spec, wanted, asked, refused))
        host = victims.cheapest(choices)
        if host is None:
            return None
        shrunk: list[str] = []
        for server, runtime_us in sorted(choices[host][1].items()):
            still()
            if not _shrink(context, server, runtime_us):
                refused.add(server)
                break
            shrunk.append(server)
        else:
            LOG.info('Server %s waits for room: on %s, %s give up some.', spec.instance_uuid,
                     host, ', '.join(shrunk) or 'none need to')
            return shrunk
        for server in shrunk:
            give_back(context, server, allowed=True)
    return None


def _choices(context: nova_context.RequestContext, spec: objects.RequestSpec,
             wanted: reservation.Reservation, asked: criticality.Criticality,
             refused: set[str]) -> Iterator[tuple[str, tuple[victims.Room, dict[str, int]]]]:
    """Yield the hosts where room can be made and nothing else keeps the server away."""
    question = collect.of_request(context, spec)
    inhabited = {each.host.name: each for each in hosts.every(context)}
    named = room.named(spec)
    for host in question.hosts(context):
        if host.name not in inhabited or host.reported is None or host.trouble or (
                host.refusals) or (named and host.name not in named):
            continue
        there = inhabited[host.name].residents
        possible = victims.Room(
            _filled(host.reported, there), host.left.get(shares.RESOURCE_CLASS, 0),
            {server: holding for server, holding in _elastic(there, asked)
             if server not in refused})
        runtimes = victims.choose(possible, wanted)
        if runtimes is not None and not shortfalls.of_host(
                _after(host, possible, runtimes), question.request):
            yield host.name, (possible, runtimes)


def _after(host: shortfalls.Host, possible: victims.Room,
           runtimes: dict[str, int]) -> shortfalls.Host:
    return dataclasses.replace(host, reported=possible.after(runtimes), left={
        **host.left, shares.RESOURCE_CLASS: possible.share_left + possible.freed(runtimes)})


def _filled(reported: shares.HostShares,
            there: list[residents.Resident]) -> shares.HostShares:
    return shares.HostShares.empty(reported.capacity, reported.occupancy).add_all(
        (holding.reservation.bandwidth, holding.pcpus)
        for each in there for holding in each.holdings)


def _elastic(there: list[residents.Resident], asked: criticality.Criticality,
             ) -> Iterator[tuple[str, ledger.Holding]]:
    """Yield who may be shrunk for a server of this criticality."""
    for each in there:
        if not _is_at_rest(each):
            continue
        holding, = each.holdings
        said, least_us = holding.terms.criticality, holding.terms.min_runtime_us
        if (said is not None and said < asked and least_us is not None
                and least_us < holding.reservation.runtime_us
                and in_place.possible(each.instance, flavors.with_reservation(
                    each.instance.flavor, dataclasses.replace(
                        holding.reservation, runtime_us=least_us)))):
            yield each.instance.uuid, holding


def _is_at_rest(each: residents.Resident) -> bool:
    """Return whether nothing is being done with a server, and nobody wants it left alone."""
    instance = each.instance
    return (len(each.holdings) == 1 and each.migration is None and not each.returns
            and instance.task_state is None and not instance.locked
            and instance.vm_state in _CHANGED_IN
            and holdings.HINT_DUE not in instance.system_metadata)


def _shrink(context: nova_context.RequestContext, server: str, runtime_us: int) -> bool:
    """Give a server less, and tell its user; return whether it has less now."""
    try:
        before = hint_update.shrink(context, server, runtime_us)
    except _REFUSED as exc:
        LOG.warning('Server %s was not shrunk for a more critical one: %s', server, exc)
        return False
    had, has = (bandwidth.percent(bandwidth.to_bandwidth(runtime, before.period_us))
                for runtime in (before.runtime_us, runtime_us))
    tell(context, server, (
        f'A more critical server found no room: this one, which is elastic, has {has} of a CPU '
        f'for each vCPU instead of {had} ([rt] preempt = elastic). It has all of it again when '
        'there is room, unless its reservation is changed before that.'))
    return True


def give_back(context: nova_context.RequestContext, server: str, allowed: bool) -> bool:
    """Finish what was begun with a shrunk server, then give it what it had if there is room.

    :param context: of an administrator
    :param allowed: whether it may have it
    :returns: whether it is shrunk no longer
    """
    try:
        has = hint_update.give_back(context, server, lambda instance, wanted: (
            allowed and _has_room(context, instance, wanted)))
    except _REFUSED as exc:
        LOG.info('Server %s stays shrunk: %s', server, exc)
        return False
    if has is None:
        return False
    tell(context, server, 'It has all of its reservation again: '
         f'{bandwidth.percent(has.bandwidth)} of a CPU for each vCPU.')
    return True


def _has_room(context: nova_context.RequestContext, instance: objects.Instance,
              wanted: reservation.Reservation) -> bool:
    """Return whether a server's host has room for more of it; its claim decides."""
    if not instance.host or instance.vm_state not in _CHANGED_IN:
        return False
    host, held = hosts.one(context, instance.host)
    holding = holdings.holding_of(instance)
    if host.trouble or host.reported is None or holding is None:
        return False
    placement = allocations.PlacementClient(context)
    more = wanted.share - holding.reservation.share
    allocated = sum(share for consumer, share in placement.shares_on(host.uuid).items()
                    if consumer != instance.uuid)
    if placement.left(host.uuid).get(shares.RESOURCE_CLASS, 0) < more or allocated > sum(
            each.holding.reservation.share for each in held if each.server != instance.uuid):
        # Somebody is on the way to the host, and has not claimed pCPUs yet.
        return False
    filled = hosts.filled(host.reported, held).remove(holding.reservation, holding.pcpus)
    return all(filled.left[pcpu] >= wanted.bandwidth for pcpu in holding.pcpus
               if pcpu < len(filled.left))


def may_use(context: nova_context.RequestContext, host: str,
            spec: objects.RequestSpec) -> bool:
    """Return whether a server that waits would fit a host if all who may be shrunk there were.

    :param context: of an administrator
    """
    wanted = request_specs.reservation_of(spec)
    asked = request_specs.criticality_of(spec, wanted)
    there, held = hosts.one(context, host)
    if wanted is None or there.reported is None:
        return False
    filled = hosts.filled(there.reported, held)
    gives = {each.server: each.holding for each in held
             if is_wanted() and asked is not None and each.holding.terms.criticality is not None
             and each.holding.terms.criticality < asked
             and each.holding.terms.min_runtime_us is not None}
    return victims.Room(filled, sum(filled.left), gives).fits(wanted, {
        server: holding.terms.min_runtime_us or holding.reservation.runtime_us
        for server, holding in gives.items()})


def shrunk(context: nova_context.RequestContext,
           ) -> list[tuple[criticality.Criticality, str, str | None]]:
    """Return who is shrunk: the criticality, the server and its host; the highest first.

    :param context: of an administrator
    """
    found = nova_context.scatter_gather_skip_cell0(context, _of_cell)
    return sorted((each for there in found.values() if isinstance(there, list)
                   for each in there), key=lambda each: (-each[0], each[1]))


def _of_cell(context: nova_context.RequestContext,
             ) -> list[tuple[criticality.Criticality, str, str | None]]:
    return [(_criticality_of(instance), instance.uuid, instance.host)
            for uuid in preempted.of_cell(context)
            if (instance := residents.find(context, uuid)) is not None]


def _criticality_of(instance: objects.Instance) -> criticality.Criticality:
    holding = holdings.holding_of(instance)
    return criticality.counted(holding.terms.criticality if holding else None)


def tell(context: nova_context.RequestContext, server: str, sentence: str) -> None:
    """Record what happened to a server where its user looks."""
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(context, server)
    except Exception as exc:
        # What was done for it is done, and what comes next does not depend on this.
        LOG.warning('Not recorded for server %s (%s): %s', server, exc, sentence)
        return
    with nova_context.target_cell(context, mapping.cell_mapping) as cell:
        actions.record(cell, server, _ACTION, sentence)
