# SPDX-License-Identifier: Apache-2.0
"""Another reservation for a server while it runs."""

from __future__ import annotations

import contextlib
import functools

from nova import exception
from nova import objects
import nova.conf

from nova_rt import bandwidth
from nova_rt import policies
from nova_rt import reservation
from nova_rt.instance import flavors
from nova_rt.instance import hint_update
from nova_rt.instance import holdings
from nova_rt.limits import admission
from nova_rt.limits import errors as limit_errors
from nova_rt.rest import errors
from nova_rt.rest.endpoints import Call
from nova_rt.rest.endpoints import Json
from nova_rt.rest.handlers import servers
from nova_rt.view import servers as view


def change(call: Call) -> Json:
    """Change it by the server's hint, all or nothing, and return the server.

    :raises ForbiddenError: if it would be more than the caller may give, or the project have
    :raises ConflictError: if the server cannot have it now
    :raises UnavailableError: if the server's host does not do it, or the project's limit
        cannot be told
    """
    server = servers.named(call)
    # To JSON Schema, 1.0 is a whole number, too.
    times = reservation.Times(**{name: int(value) for name, value in call.body.items()})
    cap = bandwidth.fraction_to_bandwidth(nova.conf.CONF.rt.cap)
    try:
        with servers.changed_by_nova(
                server.uuid, functools.partial(servers.told, call, server.host)):
            _check_allowed(call, server.uuid, server.project, server.wanted, times)
            times = _both(server.wanted, times)
            with admission.admitted(call.context, _demand(server, times),
                                    lambda: _demand(servers.named(call), times)):
                hint_update.change(call.admin, server.uuid, times, cap, call.context.is_admin)
    except reservation.InvalidReservationError as exc:
        raise errors.RefusedError(str(exc)) from None
    except limit_errors.OverLimitError as exc:
        raise errors.ForbiddenError(str(exc)) from None
    except limit_errors.UndecidedError as exc:
        raise errors.UnavailableError(str(exc)) from None
    return servers.show_server(call)


def _both(has: reservation.Reservation | None, times: reservation.Times) -> reservation.Times:
    """Return both times of what is asked for, if either is.

    Another change may come first: with its runtime, this period would be what nobody has checked.

    :raises InvalidReservationError: if they are invalid together
    """
    if has is None or times == reservation.Times():
        return times
    wanted = has.with_times(times)
    return reservation.Times(wanted.runtime_us, wanted.period_us)


def _demand(server: view.Server, times: reservation.Times) -> admission.Demand:
    share = server.wanted.with_times(times).share if server.wanted else 0
    return admission.Demand(server.project, share, server.uuid)


def _check_allowed(call: Call, uuid: str, project: str,
                   has: reservation.Reservation | None, times: reservation.Times) -> None:
    if not call.allows(policies.SERVERS_SET, project):
        raise errors.ForbiddenError(
            f'Your roles do not allow {policies.SERVERS_SET} for this server.')
    if has is None or times == reservation.Times() or call.allows(
            policies.SERVERS_SET_BEYOND, project):
        return
    most = _most(call, uuid)
    if has.with_times(times).bandwidth > most:
        raise errors.ForbiddenError(
            f"The server's flavor reserves {bandwidth.percent(most)} for each vCPU, and your "
            'roles do not allow more: lower runtime_us.')


def _most(call: Call, uuid: str) -> int:
    """Return the bandwidth of each vCPU by the flavor alone; 0 if it reserves nothing.

    Not by the server's request: Nova writes there what a migrated server has, hints included, and
    leaves the flavor of a resize that failed.

    :raises NotFound: if Nova does not know the server
    """
    server = holdings.find(call.admin, uuid)
    own = (objects.RequestSpec.get_by_instance_uuid(call.admin, uuid).flavor
           if server is None else server.flavor)
    with contextlib.suppress(exception.FlavorNotFound):
        own = objects.Flavor.get_by_flavor_id(call.admin, own.flavorid)
    return flavors.own_bandwidth(own)
