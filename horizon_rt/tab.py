# SPDX-License-Identifier: Apache-2.0
"""The tab "Real-time" in the details of an instance, of users and of administrators."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any
from typing import TypeVar

from django.http import HttpRequest
from horizon import tabs

from horizon_rt import client
from nova_rt import ledger
from nova_rt import wording
from nova_rt.sdk import proxy
from nova_rt.sdk import resources
from nova_rt.sdk.answers import Json

T = TypeVar('T')

_FORBIDDEN = 403
_NOT_PLACED = ('error', 'building')
"""Nova's states of a server (vm_state), as the API has them."""


@dataclasses.dataclass(frozen=True, slots=True)
class VCPUs:
    """What the vCPUs of a server have, which is the same for each.

    :ivar pcpus: numbers and ranges; empty if none are chosen
    """

    runtime_us: int
    period_us: int
    bandwidth: int
    count: int
    pcpus: str


class Reservation(tabs.Tab):
    """A server's reservation and what it gets, or why it has no room.

    By HORIZON_CONFIG['extra_tabs'], which Horizon reads for each group of tabs.
    """

    name = 'Real-time'
    slug = 'real_time'
    template_name = 'horizon_rt/server.html'
    preload = False

    def allowed(self, request: HttpRequest) -> bool:
        """Whether the catalogue has nova-rt's API."""
        return bool(request.user.has_perms((f'openstack.services.{client.SERVICE}',)))

    def get_context_data(self, request: HttpRequest) -> dict[str, Any]:
        """Ask for the server, and for the rest if it has no host."""
        instance = self.tab_group.kwargs['instance']
        server = client.ask(request, lambda rt: rt.get_server(instance.id))
        found = server.value
        stuck = found if found is not None and _lacks_room(found) else None
        return {
            'server': server, 'vcpus': found and _vcpus(found), 'fault': _fault(instance),
            'usage': _holds(found) and _allowed(client.ask(
                request, lambda rt: list(rt.usage(instance.id)))),
            'waiting': stuck and _allowed(client.ask(
                request, functools.partial(_turn, server=stuck))),
            'why': stuck and _allowed(client.ask(
                request, lambda rt: _reasons(rt.why(instance.id)))),
        }


def _holds(server: resources.Server | None) -> bool:
    return server is not None and bool(server.pcpus)


def _lacks_room(server: resources.Server) -> bool:
    """Whether it may be for want of room that a server does not run."""
    return bool(server.reservation and not server.pcpus and server.status in _NOT_PLACED)


def _allowed(answer: client.Answer[T]) -> client.Answer[T] | None:
    """Return an answer, None if the user's roles do not allow the question."""
    return None if answer.status == _FORBIDDEN else answer


def _vcpus(server: resources.Server) -> VCPUs | None:
    wanted = server.reservation
    if not wanted:
        return None
    return VCPUs(wanted['runtime_us'], wanted['period_us'], wanted['bandwidth'],
                 wanted['vcpus'], ledger.ranges(server.pcpus or ()))


def _fault(instance: Any) -> str:
    """Return what Nova recorded last, which every owner of a server may read."""
    fault = getattr(instance, 'fault', None) or {}
    return str(fault.get('message', ''))


def _turn(rt: proxy.Proxy, server: resources.Server) -> resources.Waiting | None:
    """Return how a server waits for room, None if it does not."""
    return next((each for each in rt.waiting(project_id=server.project_id)
                 if each.uuid == server.uuid), None)


def _reasons(answer: Json) -> list[tuple[str, list[str]]]:
    """Return sentences by host; those for all hosts come first, without a name."""
    silent = answer.get('unreachable_cells')
    everywhere = [*([wording.silent(silent)] if silent else []),
                  *(each['sentence'] for each in answer.get('shortfalls', ()))]
    return [*([('', everywhere)] if everywhere else []), *(
        (host['host'], [each['sentence'] for each in host['shortfalls']]
         or ['The server fits now.']) for host in answer['hosts'])]
