# SPDX-License-Identifier: Apache-2.0
"""Room that is made by moving servers between hosts: plans, and one migration at a time."""

from __future__ import annotations

from nova import exception

from nova_rt import reservation
from nova_rt import wording
from nova_rt.defrag.between import NoPlanError
from nova_rt.defrag.cloud import Step
from nova_rt.defrag.cloud import VCPUMove
from nova_rt.defrag.limits import Limits
from nova_rt.explain import collect
from nova_rt.explain import migrations
from nova_rt.instance import live_move
from nova_rt.rest import errors
from nova_rt.rest import microversions
from nova_rt.rest import schemas
from nova_rt.rest.endpoints import Call
from nova_rt.rest.endpoints import Json
from nova_rt.rest.handlers import common
from nova_rt.rest.handlers import servers
from nova_rt.view import hosts
from nova_rt.view import nodes


def plan_between_hosts(call: Call) -> Json:
    """Return the cheapest moves and migrations after which a flavor's server fits a host.

    :raises RefusedError: if the flavor has no reservation, or an invalid one
    :raises NotFoundError: if there is no such flavor or host
    :raises ConflictError: if no such plan was found
    :raises UnavailableError: if not all is known that a plan needs
    """
    host = call.body.get('host')
    if host is not None:
        _check_host(call, host)
    question, wanted = _question(call)
    limits = _limits(call)
    seconds = _number(call, 'seconds')
    try:
        planned = migrations.plan(call.admin, question, wanted, host, limits, seconds)
    except NoPlanError as exc:
        raise errors.ConflictError(str(exc)) from None
    except hosts.UnreachableError as exc:
        raise errors.UnavailableError(str(exc)) from None
    plan = planned.plan
    return {
        'reservation': common.of_reservation(wanted), 'host': plan.host,
        'steps': [_step(step, planned) for step in plan.steps], 'cost': plan.cost,
        'proof': plan.proof(seconds) if plan.steps else (
            'There is room already, so nothing need be moved.'),
        'hosts': _hosts(planned)}


def migrate(call: Call) -> Json:
    """Have Nova begin to migrate a server live.

    :raises ConflictError: if Nova does not begin
    :raises UnavailableError: if Nova could not be told
    """
    server = call.named['server']
    source, target = call.body['source'], call.body['target']
    _check_host(call, target)
    with servers.changed_by_nova(server):
        live_move.start(call.admin, server, source, target)
    return show_migration(call)


def show_migration(call: Call) -> Json:
    """Return how a server's newest live migration goes."""
    server = call.named['server']
    try:
        progress = live_move.progress(call.admin, server)
    except exception.NotFound:
        raise servers.unknown(server) from None
    return {'server': server, 'host': progress.host, 'under_way': progress.under_way,
            'target': progress.target, 'status': progress.status, 'reason': progress.reason}


def _question(call: Call) -> tuple[collect.Question, reservation.Reservation]:
    """Return where a server of the flavor may go, and its reservation."""
    try:
        question = collect.of_flavor(
            call.admin, common.flavor(call), call.body.get('hints', {}))
    except reservation.InvalidReservationError as exc:
        raise errors.RefusedError(str(exc)) from None
    if question.request.wanted is None:
        raise errors.RefusedError(
            f'The flavor {wording.shown(call.body["flavor"])} has no reservation: give one '
            'that has.')
    return question, question.request.wanted


def _check_host(call: Call, name: str) -> None:
    try:
        nodes.named(call.admin, name)
    except (exception.HostMappingNotFound, exception.ComputeHostNotFound):
        raise common.unknown_host(name) from None


def _step(step: Step, planned: migrations.Planned) -> Json:
    if isinstance(step, VCPUMove):
        move = step.move
        return {'step': 'move', 'server': move.server, 'name': planned.names[move.server],
                'bandwidth': move.bandwidth, 'host': step.host, 'target_host': None,
                'memory_mb': None, 'source': move.source, 'target': move.target}
    return {'step': 'migration', 'server': step.server, 'name': planned.names[step.server],
            'bandwidth': step.bandwidth, 'host': step.source, 'target_host': step.target,
            'memory_mb': step.memory_mb, 'source': None, 'target': None}


def _hosts(planned: migrations.Planned) -> list[Json]:
    """Return what the plan changes, pCPU by pCPU."""
    plan = planned.plan
    before, after = plan.before.hosts, plan.after.hosts
    return [{'host': name, 'pcpus': [{
        'pcpu': pcpu, 'capacity': capacity, 'left_before': before[name].shares.left[pcpu],
        'left_after': after[name].shares.left[pcpu]}
        for pcpu, capacity in enumerate(before[name].shares.capacity) if capacity]}
        for name in sorted(before)
        if name == plan.host or after[name].shares != before[name].shares]


def _limits(call: Call) -> Limits:
    limits = Limits(_number(call, 'max_moves'), _number(call, 'max_migrations'))
    if not limits.migrations and not microversions.has(call.version, '1.8'):
        raise errors.RefusedError('max_migrations may be 0 since version 1.8: ask for that.')
    return limits


def _number(call: Call, name: str) -> int:
    """Return a number in the body, or its default."""
    return int(call.body.get(name, schemas.ROOM_BETWEEN['properties'][name]['default']))
