# SPDX-License-Identifier: Apache-2.0
"""Servers with reservations, and what each project holds."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import functools

from nova import exception
from nova import objects

from nova_rt import policies
from nova_rt.instance import compute_call
from nova_rt.instance import usage_request
from nova_rt.rest import errors
from nova_rt.rest import microversions
from nova_rt.rest.endpoints import Call
from nova_rt.rest.endpoints import Json
from nova_rt.rest.handlers import common
from nova_rt.view import holders
from nova_rt.view import servers


def list_servers(call: Call) -> Json:
    """Return a page of the servers that hold a reservation."""
    if 'host' in call.query and not call.allows(policies.SERVERS_HOST):
        raise errors.ForbiddenError('Your roles do not allow to ask for a host.')
    page = servers.page(call.admin, scope(call), call.query['limit'],
                        call.query.get('marker'))
    return {'servers': [_server(call, server) for server in page.servers],
            'next': page.servers[-1].uuid if page.more else None,
            'unreachable_cells': page.unreachable}


def show_server(call: Call) -> Json:
    """Return a server, whether or not it holds a reservation."""
    return _server(call, named(call))


def show_usage(call: Call) -> Json:
    """Return what the kernel has given to a server, by pCPU; nothing unless it runs.

    :raises ConflictError: if it is on no host
    :raises UnavailableError: if its host does not answer
    """
    server = named(call)
    with changed_by_nova(server.uuid, functools.partial(told, call, server.host)):
        got = usage_request.ask(call.admin, server.uuid)
    return {'pcpus': [{'pcpu': pcpu, **dataclasses.asdict(got[pcpu])} for pcpu in sorted(got)]}


def list_projects(call: Call) -> Json:
    """Return what each project holds, as far as the caller may see."""
    projects, unreachable = servers.by_project(call.admin, scope(call))
    return {'projects': [{
        'project_id': project.uuid, 'servers': project.servers,
        'vcpus': project.vcpus, 'share': project.share} for project in projects],
        'unreachable_cells': unreachable}


def named(call: Call) -> servers.Server:
    """Return the server that the path names.

    :raises NotFoundError: if there is none, or not for the caller
    """
    uuid = call.named['server']
    try:
        server = servers.one(call.admin, uuid)
    except exception.NotFound:
        raise unknown(uuid) from None
    _check_theirs(call, uuid, server.project)
    return server


def check_visible(call: Call, uuid: str) -> None:
    """Refuse a server of another project, unless the caller may see servers of all projects.

    :raises NotFoundError: if there is no such server, or not for the caller
    """
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(call.admin, uuid)
    except exception.InstanceMappingNotFound:
        raise unknown(uuid) from None
    _check_theirs(call, uuid, mapping.project_id)


def unknown(uuid: str) -> errors.NotFoundError:
    """Return the refusal for a server that there is not, or not for the caller."""
    return errors.NotFoundError(
        f'There is no server {uuid[:64]}: give the id that "openstack server list" shows.')


def told(call: Call, host: str | None, exc: compute_call.RefusedError) -> str:
    """Return a refusal, without the host's name for those who may not see it."""
    if host is None or call.allows(policies.SERVERS_HOST):
        return str(exc)
    return str(exc).replace(host, 'its host')


@contextlib.contextmanager
def changed_by_nova(uuid: str, sentence: Callable[[compute_call.RefusedError], str] = str,
                    ) -> Iterator[None]:
    """Answer for what is asked of Nova about a server in here, if Nova does not do it.

    :param sentence: returns what the caller is told of a refusal
    :raises ConflictError: if it refuses
    :raises NotFoundError: if there is no such server
    :raises UnavailableError: if it could not be asked, or does not answer
    """
    try:
        yield
    except compute_call.UnansweredError as exc:
        raise errors.UnavailableError(sentence(exc)) from None
    except compute_call.RefusedError as exc:
        raise errors.ConflictError(sentence(exc)) from None
    except exception.NotFound:
        raise unknown(uuid) from None


def scope(call: Call) -> holders.Scope:
    """Return which servers are asked for.

    :raises ForbiddenError: if they are not the caller's to see
    """
    own, wanted = call.context.project_id, call.query.get('project_id')
    if not call.allows(policies.SERVERS_ALL):
        if own is None or wanted not in (None, own):
            raise errors.ForbiddenError(
                'Your roles allow to see the servers of your own project only.')
        wanted = own
    return holders.Scope(wanted, call.query.get('host'))


def _check_theirs(call: Call, uuid: str, project: str) -> None:
    if project != call.context.project_id and not call.allows(policies.SERVERS_ALL):
        # Whether there is one is none of the caller's business.
        raise unknown(uuid)


def _server(call: Call, server: servers.Server) -> Json:
    shown: Json = {
        'server': server.uuid, 'name': server.name, 'project_id': server.project,
        'status': server.status, 'kind': common.of_kind(server.kind),
        'reservation': common.of_reservation(server.wanted),
        'pcpus': list(server.pcpus)}
    if call.allows(policies.SERVERS_HOST):
        shown['host'] = server.host
    if microversions.has(call.version, '1.4'):
        shown['criticality'] = server.criticality.name if server.criticality else None
    if microversions.has(call.version, '1.7'):
        shown['owed_us'] = server.owed_us
    return shown
