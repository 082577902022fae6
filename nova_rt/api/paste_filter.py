# SPDX-License-Identifier: Apache-2.0
"""The WSGI filter that refuses reservations: invalid ones with HTTP 400, those that the
caller's roles do not allow or that are over the project's limit with 403.

In api-paste.ini it stands last, just before ``osapi_compute_app_v21``::

    [filter:rt_reservations]
    use = egg:nova-rt#rt_reservations

It refuses only what it is sure of. Everything else, malformed requests and an
unreachable database included, goes on to Nova, which answers as it always does. Only
where Keystone limits the share of a project, what cannot be counted is answered 503.
"""

from collections.abc import Callable
import functools
import re
from typing import Any

from keystoneauth1 import exceptions as ks_exc
from nova import exception
from nova.api.openstack import wsgi
import nova.conf
from oslo_db import exception as db_exception
from oslo_log import log as logging
from oslo_serialization import jsonutils
import sqlalchemy.exc
import webob.dec
import webob.exc

from nova_rt import conf
from nova_rt import policies
from nova_rt import reservation
from nova_rt.api import checks
from nova_rt.limits import admission
from nova_rt.limits import errors as limit_errors

LOG = logging.getLogger(__name__)

# As in nova.api.openstack.ProjectMapper and nova.api.openstack.compute.routes.
# The method does not matter: Nova lets a query string override it, and there
# is no other POST or PUT on these paths.
_SERVERS = r'(?:/[0-9a-f-]+)?/(?:servers|os-volumes_boot)'
_Check = Callable[..., admission.Demand | None]
_CHECKS: tuple[tuple[re.Pattern[str], _Check], ...] = (
    (re.compile(f'{_SERVERS}/?'), checks.check_create),
    (re.compile(f'{_SERVERS}/(?P<server_id>[^/]+)/action/?'),
     checks.check_action),
    (re.compile(r'(?:/[0-9a-f-]+)?/flavors/(?P<flavor_id>[^/]+)'
                r'/os-extra_specs(?:/(?P<key>[^/]+))?/?'),
     checks.check_extra_specs),
)

# Nova meets the same when it looks for itself, or refuses the request before.
_LEFT_TO_NOVA = (
    # A path that is not UTF-8, or half of a surrogate pair, which JSON can escape.
    UnicodeError,
    db_exception.DBInvalidUnicodeParameter,
    exception.NovaException,
    db_exception.DBError,
    db_exception.CantStartEngineError,
    sqlalchemy.exc.SQLAlchemyError,
    ks_exc.ClientException,
)


def filter_factory(global_conf: dict[str, str], **local_conf: str
                   ) -> Callable[[Any], 'ReservationFilter']:
    """Return what paste.deploy wraps the application in."""
    conf.register_opts(nova.conf.CONF)
    return ReservationFilter


class ReservationFilter:
    """Answers with one sentence, or hands the request on untouched."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._policy = policies.Policy(nova.conf.CONF)

    # WebOb ships no types.
    @webob.dec.wsgify(RequestClass=wsgi.Request)  # type: ignore[untyped-decorator]
    def __call__(self, request: wsgi.Request) -> Any:
        """Answer one request; the WSGI application itself."""
        try:
            demand = self._check(request)
            if demand is None:
                return self._application
            # A new server is as its request says, which nobody changes.
            anew = (None if demand.changed is None
                    else functools.partial(self._check_anew, request))
            with admission.admitted(request.environ['nova.context'], demand, anew):
                return request.get_response(self._application)
        except reservation.InvalidReservationError as exc:
            return _refusal(webob.exc.HTTPBadRequest, exc)
        except (policies.NotAllowedError, limit_errors.OverLimitError) as exc:
            return _refusal(webob.exc.HTTPForbidden, exc)
        except limit_errors.UndecidedError as exc:
            return _refusal(webob.exc.HTTPServiceUnavailable, exc)

    def _check(self, request: wsgi.Request) -> admission.Demand | None:
        try:
            return self._demand(request)
        except _LEFT_TO_NOVA as exc:
            LOG.info('Not checked, left to Nova: %s', exc)
            return None

    def _check_anew(self, request: wsgi.Request) -> admission.Demand | None:
        """Check what a request asks for when its turn has come.

        :raises UndecidedError: if the server cannot be read any more
        """
        try:
            return self._demand(request)
        except exception.NotFound:
            return None
        except _LEFT_TO_NOVA as exc:
            raise limit_errors.UndecidedError(
                f'What the server has now cannot be read ({exc}): try again.') from None

    def _demand(self, request: wsgi.Request) -> admission.Demand | None:
        check, named = _route(request)
        if check is None:
            return None
        context = request.environ.get('nova.context')
        if context is None:
            LOG.error('rt_reservations checks nothing: in api-paste.ini it must '
                      'come after keystonecontext')
            return None
        return check(checks.Caller(context, self._policy), _body(request), **named)


def _body(request: wsgi.Request) -> object:
    """Return the decoded body, None if it is not JSON."""
    # Nova's answers to a wrong version or content type come first.
    request.set_api_version_request()
    request.get_content_type()
    try:
        return jsonutils.loads(request.body)
    except (ValueError, RecursionError):
        return None


def _refusal(status: type[webob.exc.HTTPException], exc: Exception) -> wsgi.Fault:
    LOG.info('Refused: %s', exc)
    return wsgi.Fault(status(explanation=str(exc)))


def _route(request: wsgi.Request) -> tuple[_Check | None, dict[str, str | None]]:
    """Return the check for a request and what its path names."""
    if request.method in ('POST', 'PUT'):
        # Nova's own patterns end with "$", which lets a line feed follow.
        asked = request.path_info.removesuffix('\n')
        for path, check in _CHECKS:
            match = path.fullmatch(asked)
            if match:
                return check, match.groupdict()
    return None, {}
