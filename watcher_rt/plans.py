# SPDX-License-Identifier: Apache-2.0
"""Plans, as nova-rt's API makes them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from openstack import exceptions

from nova_rt import bandwidth
from nova_rt import wording
from nova_rt.sdk import proxy
from watcher_rt import parameters

# How many moves a balance has at most, unless the audit says so.
MOST = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, one after the other.

    :ivar steps: as :class:`nova_rt.sdk.resources.PlanBetweenHosts` has them
    :ivar room: before and after, in percent of a CPU: what each of as many pCPUs has left as
        the flavor has vCPUs, or what the fullest has of those that are balanced; None if
        nothing was planned
    :ivar proof: a sentence on whether there is a better plan
    """

    steps: tuple[Mapping[str, Any], ...] = ()
    room: tuple[float, float] | None = None
    proof: str = ''


def for_flavor(rt: proxy.Proxy, asked: parameters.Asked) -> Plan:
    """Return the cheapest steps that let a server of a flavor in."""
    most = asked.get('max_migrations') if asked.get('between_hosts') else 0
    found = rt.plan_between_hosts(
        asked['flavor'], asked.get('hints'), asked.get('host'), asked.get('max_moves'), most,
        asked.get('seconds'))
    pcpus, = (host['pcpus'] for host in found.hosts if host['host'] == found.host)
    return Plan(tuple(found.steps), _left(pcpus, -found.reservation['vcpus']), found.proof)


def for_balance(rt: proxy.Proxy, asked: parameters.Asked) -> Plan:
    """Return moves that leave the fullest pCPU of a host the most, host by host.

    Without a host, those are left out for which there is no plan.

    :raises HttpException: if there is none for any
    """
    left = asked.get('max_moves', MOST)
    hosts = [asked['host']] if 'host' in asked else [
        each.name for each in rt.hosts() if each.share_used]
    plans: list[Plan] = []
    refused: exceptions.HttpException | None = None
    for number, host in enumerate(hosts):
        try:
            plans.append(_of_host(rt, host, left))
        except exceptions.HttpException as exc:
            refused = exc
            continue
        left -= len(plans[-1].steps)
        if not left:
            return _together(plans, len(hosts) - number - 1)
    if refused is not None and not plans:
        raise refused
    return _together(plans, 0)


def _of_host(rt: proxy.Proxy, host: str, most: int) -> Plan:
    found = rt.plan_moves(host, max_moves=most)
    return Plan(tuple({**move, 'step': 'move', 'host': host} for move in found.moves),
                _left(found.pcpus, 0))


def _together(plans: list[Plan], not_looked_at: int) -> Plan:
    """Return the plans of several hosts as one."""
    rooms = [plan.room for plan in plans if plan.room is not None]
    proof = 'No better moves were found; there may be some.'
    if not_looked_at:
        proof = (f'As many moves as allowed; {wording.counted(not_looked_at, "host")} could '
                 'not be looked at.')
    return Plan(
        tuple(step for plan in plans for step in plan.steps),
        (min(before for before, _ in rooms), min(after for _, after in rooms)) if rooms else None,
        proof)


def _left(pcpus: Iterable[Mapping[str, int]], place: int) -> tuple[float, float]:
    """Return what the pCPU at a place has left before and after, in percent.

    :param place: from 0, the fullest, on; or from -1, the emptiest, back
    """
    before, after = (sorted(pcpu[name] for pcpu in pcpus)[place]
                     for name in ('left_before', 'left_after'))
    return _percent(before), _percent(after)


def _percent(left: int) -> float:
    return round(100 * left / bandwidth.BW_UNIT, 2)
