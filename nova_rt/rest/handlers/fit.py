# SPDX-License-Identifier: Apache-2.0
"""What keeps a server from each host, and how many more fit."""

from __future__ import annotations

from nova import exception
from nova import objects

from nova_rt import policies
from nova_rt import reservation
from nova_rt import shortfalls
from nova_rt import wording
from nova_rt.explain import collect
from nova_rt.explain import pieces
from nova_rt.explain import quotas
from nova_rt.rest import errors
from nova_rt.rest import microversions
from nova_rt.rest.endpoints import Call
from nova_rt.rest.endpoints import Json
from nova_rt.rest.handlers import common
from nova_rt.rest.handlers import servers
from nova_rt.rest.handlers import waiting
from nova_rt.view import waiting as view


def explain(call: Call) -> Json:
    """Return what each host is short of now for a server, in the sum and by pCPU."""
    question, limits = _question(call)
    request = question.request
    hosts, silent = question.everywhere(call.admin)
    moves = (pieces.moves_that_help(call.admin, hosts, question)
             if microversions.has(call.version, '1.3') else {})
    answer: Json = {
        'reservation': common.of_reservation(request.wanted), 'fault': request.fault,
        'hosts': [_host(host.name, [
            *shortfalls.of_host(host, request),
            *([moves[host.name]] if host.name in moves else [])]) for host in hosts]}
    if microversions.has(call.version, '1.2'):
        answer['shortfalls'] = [_shortfall(each) for each in (
            *quotas.shortfalls_of(limits), *shortfalls.together(hosts, request))]
    if microversions.has(call.version, '1.6'):
        waits = view.one(call.admin, call.body['server']) if 'server' in call.body else None
        answer['waiting'] = None if waits is None else waiting.of_entry(waits)
    if microversions.has(call.version, '1.10'):
        answer['unreachable_cells'] = silent
    return answer


def capacity(call: Call) -> Json:
    """Return how many more servers of a flavor fit each host.

    :raises RefusedError: if the flavor takes nothing, so that any number fits
    """
    question, limits = _question(call)
    request = question.request
    if not any(request.needs.values()):
        raise errors.RefusedError(
            f'The flavor {wording.shown(call.body["flavor"])} takes nothing that is '
            'counted: any number of its servers fits.')
    hosts, silent = question.everywhere(call.admin)
    rooms = [(host.name, *shortfalls.room(host, request)) for host in hosts]
    answer: Json = {
        'reservation': common.of_reservation(request.wanted),
        'total': shortfalls.total((count for _, count, _ in rooms), request),
        'hosts': [{'host': host, 'servers': count, 'limit': limit}
                  for host, count, limit in rooms]}
    if microversions.has(call.version, '1.2'):
        answer['quotas'] = [{
            'owner': each.owner, 'resource': each.resource, 'servers': each.servers,
            'sentence': str(each)} for each in limits]
    if microversions.has(call.version, '1.10'):
        answer['unreachable_cells'] = silent
    return answer


def _question(call: Call) -> tuple[collect.Question, list[quotas.Quota]]:
    """Return what is asked for, by a server, or by a flavor and hints; and its quotas.

    A server that there is already has none: it counts for them.

    :raises NotFoundError: if there is no such server or flavor, or not for the caller
    :raises RefusedError: if its reservation is invalid
    :raises UnavailableError: if the quotas cannot be read
    """
    try:
        if 'server' in call.body:
            servers.check_visible(call, call.body['server'])
            return collect.of_server(call.admin, call.body['server']), []
        flavor = common.flavor(call)
        _check_hints(call)
        question = collect.of_flavor(call.admin, flavor, call.body.get('hints', {}))
        return question, (quotas.of(call.admin, flavor, question.request.wanted)
                          if microversions.has(call.version, '1.2') else [])
    except exception.NotFound:
        raise servers.unknown(call.body['server']) from None
    except quotas.UnreadableError as exc:
        raise errors.UnavailableError(str(exc)) from None
    except reservation.InvalidReservationError as exc:
        raise errors.RefusedError(str(exc)) from None


def _check_hints(call: Call) -> None:
    """Refuse hints that name what is not the caller's: filters would tell where it is.

    :raises NotFoundError: for a server or a server group of another project, unless the caller
        may see servers of all projects
    """
    if call.allows(policies.SERVERS_ALL):
        return
    for name in ('same_host', 'different_host'):
        for server in _named(call, name):
            servers.check_visible(call, server)
    for group in _named(call, 'group'):
        try:
            # As nova-api does, with the caller's own context.
            objects.InstanceGroup.get_by_uuid(call.context, group)
        except exception.InstanceGroupNotFound:
            raise errors.NotFoundError(
                f'There is no server group {wording.shown(group)}: give the id that "openstack '
                'server group list" shows.') from None


def _named(call: Call, hint: str) -> list[str]:
    named = call.body.get('hints', {}).get(hint, [])
    return [*map(str, named)] if isinstance(named, list) else [str(named)]


def _host(name: str, missing: list[shortfalls.Shortfall]) -> Json:
    return {'host': name, 'fits': not missing,
            'shortfalls': [_shortfall(each) for each in missing]}


def _shortfall(each: shortfalls.Shortfall) -> Json:
    return {'what': each.what, 'needed': each.needed, 'left': each.left,
            'missing': each.missing, 'sentence': each.sentence}
