# SPDX-License-Identifier: Apache-2.0
"""Moves between the pCPUs of a host: plans of them, and one at a time."""

from __future__ import annotations

from nova_rt import kinds
from nova_rt import ledger
from nova_rt import moving
from nova_rt import reservation
from nova_rt import shares
from nova_rt import wording
from nova_rt.defrag import planner
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import MoveError
from nova_rt.defrag.plan import Plan
from nova_rt.instance import flavors
from nova_rt.instance import vcpu_move_request
from nova_rt.rest import errors
from nova_rt.rest import schemas
from nova_rt.rest.endpoints import Call
from nova_rt.rest.endpoints import Json
from nova_rt.rest.handlers import common
from nova_rt.rest.handlers import hosts
from nova_rt.rest.handlers import servers
from nova_rt.view import hosts as hosts_view


def plan_moves(call: Call) -> Json:
    """Return the fewest moves that let a flavor's server in, or those that balance the host.

    :raises RefusedError: if the flavor has no reservation, or an invalid one
    :raises ConflictError: if moves make no such room on this host, or the flavor is for
        hosts of the other kind
    """
    host, held = hosts.named(call)
    if host.reported is None:
        raise errors.ConflictError(f'{host.name} offers no CPU reservations.')
    if (host.moves is moving.Moving.NEVER
            and host.reported.occupancy is shares.Occupancy.CHOSEN):
        raise errors.ConflictError(
            f'{host.name} moves no vCPUs: its kernel admits threads itself, and lets none that '
            'has its reservation go elsewhere, or its nova-rt-compute is too old to say.')
    wanted = _wanted(call, host)
    try:
        plan = _plan(call, hosts_view.filled(host.reported, held), hosts_view.movable(held),
                     wanted)
    except (planner.NoPlanError, MoveError) as exc:
        raise errors.ConflictError(str(exc)) from None
    names = {each.server: each.name for each in held}
    before, after = plan.before, plan.after
    return {
        'reservation': common.of_reservation(wanted),
        'moves': [{'server': move.server, 'name': names[move.server], 'source': move.source,
                   'target': move.target, 'bandwidth': move.bandwidth} for move in plan.moves],
        'proof': _proof(call, plan, wanted),
        'pcpus': [{'pcpu': pcpu, 'capacity': before.capacity[pcpu],
                   'left_before': before.left[pcpu], 'left_after': after.left[pcpu]}
                  for pcpu in before.usable]}


def make_move(call: Call) -> Json:
    """Move a vCPU, all or nothing, and return the host.

    :raises ConflictError: if the server cannot be moved so now
    :raises UnavailableError: if the host does not do it
    """
    host, held = hosts.named(call)
    server = call.body['server'].lower()
    holdings = [each for each in held if each.server == server]
    if not holdings:
        raise errors.ConflictError(
            f'Server {server} holds nothing on {host.name}: plan the moves anew.')
    if not all(each.movable for each in holdings):
        raise errors.ConflictError(
            f'Server {server} cannot be moved between pCPUs now: it must be active or '
            'stopped, and nothing be under way.')
    with servers.changed_by_nova(server):
        # To JSON Schema, 1.0 is a whole number, too.
        vcpu_move_request.move(
            call.admin, server, host.name, int(call.body['source']), int(call.body['target']))
    return hosts.show_host(call)


def _wanted(call: Call, host: hosts_view.Host) -> reservation.Reservation | None:
    """Return the reservation that room is to be made for, None without a flavor.

    :raises RefusedError: if the flavor has none, or an invalid one
    :raises ConflictError: if the flavor is for hosts of the other kind
    """
    if 'flavor' not in call.body:
        return None
    flavor = common.flavor(call)
    try:
        wanted = flavors.reservation_of(flavors.with_hints(flavor, call.body.get('hints', {})))
        choice = kinds.chosen(flavor.extra_specs, {})
    except reservation.InvalidReservationError as exc:
        raise errors.RefusedError(str(exc)) from None
    if wanted is None:
        raise errors.RefusedError(
            f'The flavor {wording.shown(call.body["flavor"])} has no reservation: give one '
            'that has, or none to balance the host.')
    if choice is not None and host.kind not in (None, choice.kind):
        raise errors.ConflictError(
            f'{host.name} does not run {choice.kind.plural}, but {choice.reason}.')
    return wanted


def _plan(call: Call, host: shares.HostShares, holdings: dict[str, ledger.Holding],
          wanted: reservation.Reservation | None) -> Plan:
    max_moves = _number(call, 'max_moves')
    if wanted is None:
        return planner.balance(host, holdings, max_moves)
    return planner.fewest(
        host, holdings, Goal.room_for(wanted), _number(call, 'seconds'), max_moves)


def _proof(call: Call, plan: Plan, wanted: reservation.Reservation | None) -> str:
    if wanted is None:
        return 'No moves that balance the host better were found; there may be some.'
    if not plan.moves:
        return 'There is room already, so nothing need be moved.'
    return planner.proof(plan, _number(call, 'seconds'))


def _number(call: Call, name: str) -> int:
    """Return a number in the body, or its default."""
    return int(call.body.get(name, schemas.ROOM['properties'][name]['default']))
