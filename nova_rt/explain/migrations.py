# SPDX-License-Identifier: Apache-2.0
"""Plans migrations between hosts that make room, with what Nova and Placement say of them.

What is cheap to know is known of every server: what it holds, its kind and criticality, and
what Placement has left on each host. What Nova's filters say, of zones, aggregates or
groups, is asked only of servers that a plan would migrate; where they refuse it, it is
planned anew. Nova asks all of them again when a plan is carried out.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import time

from nova import context as nova_context
from nova import exception
from nova.compute import power_state
from nova.compute import vm_states
from nova.scheduler import utils

from nova_rt import criticality
from nova_rt import moving
from nova_rt import reservation
from nova_rt import shares
from nova_rt import shortfalls
from nova_rt.defrag import between
from nova_rt.defrag import departures
from nova_rt.defrag.cloud import Cloud
from nova_rt.defrag.cloud import Guest
from nova_rt.defrag.cloud import Host
from nova_rt.defrag.cloud import Migration
from nova_rt.defrag.cloud import Step
from nova_rt.defrag.cloud import Wanted
from nova_rt.defrag.limits import Limits
from nova_rt.explain import collect
from nova_rt.instance import flavors
from nova_rt.instance import residents
from nova_rt.view import hosts as hosts_view

# What a plan that is made anew has at least, in seconds, for the search and for the proof.
_LEAST_S = 0.25


@dataclasses.dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and what people call the servers in it, by uuid."""

    plan: between.Plan
    names: Mapping[str, str]


def plan(context: nova_context.RequestContext, question: collect.Question,
         asked_for: reservation.Reservation, only: str | None, limits: Limits,
         seconds: float) -> Planned:
    """Return the cheapest plan found after which what is asked for fits a host.

    :param context: of an administrator
    :param question: where a server may go
    :param asked_for: its reservation
    :param only: the host that the room is to be on, None for any
    :param seconds: after which the best plan so far is returned, once Nova and Placement
        have said what there is
    :raises NoPlanError: if there is none, or none was found
    :raises UnreachableError: if a cell does not answer
    """
    known = {host.name: host for host in question.hosts(context)}
    if only in known:
        for refusal in _refusals(known[only], question.request):
            raise between.NoPlanError(f'{only} has no room for it. {refusal.sentence}', True)
    inhabited = hosts_view.every(context)
    cloud = Cloud({each.host.name: host for each in inhabited if each.host.name in known
                   and (host := _host(each, known[each.host.name])) is not None})
    wanted = Wanted(asked_for, question.request.needs, frozenset(
        name for name in cloud.hosts
        if only in (None, name) and not _refusals(known[name], question.request)))
    return Planned(
        cheapest(Filters(context), cloud, wanted, limits, seconds),
        {resident.instance.uuid: resident.instance.display_name or ''
         for each in inhabited for resident in each.residents})


def cheapest(filters: Filters, cloud: Cloud, wanted: Wanted, limits: Limits,
             seconds: float) -> between.Plan:
    """Return the cheapest plan found that Nova's filters do not refuse.

    They are asked about what the quick search found, before time is spent on a proof.
    """
    ends = time.monotonic() + seconds
    while True:
        now = time.monotonic()
        steps = departures.find(
            cloud, wanted, limits, ends=now + max(_LEAST_S, (ends - now) / 2))
        refused = filters.refusing(steps or (), cloud)
        cloud = dataclasses.replace(cloud, refused=filters.refused)
        if refused:
            continue
        found = between.improved(cloud, wanted, limits, steps,
                                 max(ends, time.monotonic() + _LEAST_S), seconds)
        refused = filters.refusing(found.steps, cloud)
        cloud = dataclasses.replace(cloud, refused=filters.refused)
        if not refused:
            return found


class Filters:
    """What Nova's filters say of servers that plans would migrate; each is asked once.

    :ivar refused: servers, and the hosts that these may not go to
    """

    def __init__(self, context: nova_context.RequestContext) -> None:
        self.refused: frozenset[tuple[str, str]] = frozenset()
        self._context = context
        self._asked: set[str] = set()

    def refusing(self, steps: Collection[Step], cloud: Cloud) -> bool:
        """Ask about those that steps migrate, and return whether a step is refused."""
        migrations = [step for step in steps if isinstance(step, Migration)]
        new = {step.server for step in migrations} - self._asked
        self._asked |= new
        self.refused |= {(server, host) for server in new
                         for host in _refusing(self._context, server, cloud)}
        return any((step.server, step.target) in self.refused for step in migrations)


def _refusing(context: nova_context.RequestContext, server: str,
              cloud: Cloud) -> Iterator[str]:
    """Yield the hosts that a server may not go to, however empty they are."""
    try:
        question = collect.of_server(context, server)
    except (exception.NotFound, reservation.InvalidReservationError):
        yield from cloud.hosts
        return
    for host in question.hosts(context):
        if _refusals(host, question.request):
            yield host.name


def _refusals(host: shortfalls.Host, request: shortfalls.Request) -> list[shortfalls.Shortfall]:
    """Return what speaks against a host besides what it has left."""
    reported = host.reported and shares.HostShares.empty(
        host.reported.capacity, host.reported.occupancy)
    return shortfalls.of_host(
        dataclasses.replace(host, reported=reported, left=request.needs), request)


def _host(each: hosts_view.Inhabited, known: shortfalls.Host) -> Host | None:
    """Return a host as plans have it, None if no plan concerns it."""
    host = each.host
    if (host.reported is None or host.kind is None
            or host.reported.occupancy is shares.Occupancy.EVERY):
        return None
    held = shares.HostShares.empty(host.reported.capacity, host.reported.occupancy).add_all(
        (holding.reservation.bandwidth, holding.pcpus)
        for resident in each.residents for holding in resident.holdings)
    return Host(
        held, dict(guests(each.residents)), known.left, known.policy, host.kind,
        host.criticalities, host.moves is not moving.Moving.NEVER, not host.trouble, each.cell)


def guests(there: list[residents.Resident]) -> Iterator[tuple[str, Guest]]:
    for resident in there:
        instance = resident.instance
        if hosts_view.may_move(resident):
            asked = flavors.criticality_of(instance.flavor)
            yield instance.uuid, Guest(
                resident.holdings[0], instance.flavor.memory_mb,
                # What boots from a volume has no disk of its own, as a rule without image:
                # it takes less, which a query for each would tell, and gives no more back.
                utils.resources_from_flavor_and_bfv(instance.flavor, False),
                utils.resources_from_flavor_and_bfv(instance.flavor, not instance.image_ref),
                criticality.counted(asked), True,
                instance.vm_state == vm_states.ACTIVE and not instance.locked
                and instance.power_state == power_state.RUNNING)
