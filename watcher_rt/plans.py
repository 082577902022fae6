# SPDX-License-Identifier: Apache-2.0
"""Plans, as nova-rt's API makes them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from openstack import exceptions

from nova_rt import bandwidth
from nova_rt.sdk import proxy
from watcher_rt import parameters

# How many moves a balance has at most, unless the audit says so.
MOST = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, one after the other.

    :ivar steps: as :class:`nova_rt.sdk.resources.PlanBetweenHosts` has them
    :ivar before, after: the room, in percent of a CPU: what each of as many pCPUs has left
        as the flavor has vCPUs, or what the fullest has of those that are balanced
    :ivar proof: a sentence on whether there is a cheaper plan; empty if nothing is known
    """

    steps: tuple[Mapping[str, Any], ...] = ()
    before: float = 0.0
    after: float = 0.0
    proof: str = ''


def for_flavor(rt: proxy.Proxy, asked: parameters.Asked) -> Plan:
    """Return the cheapest steps that let a server of a flavor in."""
    most = asked.get('max_migrations') if asked.get('between_hosts') else 0
    found = rt.plan_between_hosts(
        asked['flavor'], asked.get('hints'), asked.get('host'), asked.get('max_moves'), most,
        asked.get('seconds'))
    pcpus, = (host['pcpus'] for host in found.hosts if host['host'] == found.host)
    return Plan(tuple(found.steps), *_left(pcpus, -found.reservation['vcpus']), found.proof)


def for_balance(rt: proxy.Proxy, asked: parameters.Asked) -> Plan:
    """Return moves that leave the fullest pCPU of a host the most, host by host.

    Without a host, those are left out whose pCPUs cannot be balanced.
    """
    most = asked.get('max_moves', MOST)
    if 'host' in asked:
        return _together([_of_host(rt, asked['host'], most)])
    plans: list[Plan] = []
    for host in [each.name for each in rt.hosts() if each.share_used]:
        left = most - sum(len(plan.steps) for plan in plans)
        if not left:
            break
        try:
            plans.append(_of_host(rt, host, left))
        except exceptions.ConflictException:
            continue
    return _together(plans)


def _of_host(rt: proxy.Proxy, host: str, most: int) -> Plan:
    found = rt.plan_moves(host, max_moves=most)
    return Plan(tuple({**move, 'step': 'move', 'host': host} for move in found.moves),
                *_left(found.pcpus, 0), found.proof)


def _together(plans: Iterable[Plan]) -> Plan:
    """Return the plans as one; what is balanced already does not count."""
    plans = [plan for plan in plans if plan.steps]
    if not plans:
        return Plan(proof='No moves that balance a host better were found.')
    return Plan(tuple(step for plan in plans for step in plan.steps),
                min(plan.before for plan in plans), min(plan.after for plan in plans),
                plans[0].proof)


def _left(pcpus: Iterable[Mapping[str, int]], place: int) -> tuple[float, float]:
    """Return what the pCPU at a place has left before and after, in percent.

    :param place: from 0, the fullest, on; or from -1, the emptiest, back
    """
    before, after = (sorted(pcpu[name] for pcpu in pcpus)[place]
                     for name in ('left_before', 'left_after'))
    return _percent(before), _percent(after)


def _percent(left: int) -> float:
    return round(100 * left / bandwidth.BW_UNIT, 2)
