# SPDX-License-Identifier: Apache-2.0
"""The WSGI application: finds the endpoint, asks the policy, calls the handler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keystoneauth1 import exceptions as ks_exc
from nova import exception
from oslo_log import log as logging
from oslo_serialization import jsonutils
import routes
import webob
import webob.dec

from nova_rt import policies
from nova_rt.db import problems
from nova_rt.rest import endpoints
from nova_rt.rest import errors
from nova_rt.rest import microversions
from nova_rt.rest import validation

LOG = logging.getLogger(__name__)

# Not among them: a module that is missing.
_DATABASE_ERRORS = tuple(
    error for error in problems.DATABASE_ERRORS if error is not ImportError)
_PLACEMENT_ERRORS = (
    ks_exc.ClientException, exception.PlacementAPIConnectFailure,
    exception.ResourceProviderAllocationRetrievalFailed)


class Application:
    """Answers with JSON, and refuses with one sentence of it.

    :param table: all that it answers
    :param policy: who may ask for what
    """

    def __init__(self, table: Sequence[endpoints.Endpoint],
                 policy: policies.Policy) -> None:
        self._policy = policy
        self._by_path: dict[str, dict[str, endpoints.Endpoint]] = {}
        for endpoint in table:
            self._by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        self._mapper = routes.Mapper()
        for path in self._by_path:
            # What it calls a controller can only be a string.
            self._mapper.connect(path, controller=path, action='')

    # WebOb ships no types.
    @webob.dec.wsgify  # type: ignore[untyped-decorator]
    def __call__(self, request: webob.Request) -> webob.Response:
        """Answer one request."""
        version = microversions.VERSIONS[0]
        try:
            version = microversions.wanted(request)
            answer = webob.Response(
                content_type='application/json', charset='UTF-8',
                text=jsonutils.dumps(self._answer(request, version)))
        except errors.RefusedError as exc:
            answer = errors.response(exc, request.environ)
        microversions.tell(answer, version)
        return answer

    def _answer(self, request: webob.Request, version: str) -> endpoints.Json:
        endpoint, named = self._find(request)
        if not microversions.has(version, endpoint.since):
            raise errors.VersionError(
                f'{endpoint.method} of this path came with version {endpoint.since}: ask '
                f'for it with the header "{microversions.HEADER}: '
                f'{microversions.SERVICE_TYPE} {endpoint.since}".')
        context = request.environ['nova.context']
        if not self._policy.allows(context, endpoint.rule):
            raise errors.ForbiddenError(
                f'Your roles do not allow {endpoint.rule} in this scope.')
        call = endpoints.Call(
            version, context, self._policy, named, validation.query_of(request, endpoint.query),
            validation.body_of(request, endpoint.body))
        try:
            return endpoint.handle(call)
        except _DATABASE_ERRORS as exc:
            LOG.warning('A database cannot be read: %s', problems.sentence(exc))
            raise errors.UnavailableError(
                "One of Nova's databases does not answer: try again later.") from None
        except _PLACEMENT_ERRORS as exc:
            LOG.warning('Placement cannot be asked: %s', exc)
            raise errors.UnavailableError(
                'Placement does not answer: try again later.') from None

    def _find(self, request: webob.Request) -> tuple[endpoints.Endpoint, dict[str, Any]]:
        try:
            path = request.path_info
            # Decoded here, where it can be refused.
            request.GET.mixed()
        except UnicodeDecodeError:
            raise errors.RefusedError('The URL is not UTF-8.') from None
        found = self._mapper.match(path) if '\0' not in path else None
        if not found:
            raise errors.NotFoundError('There is nothing at this path of the API.')
        by_method = self._by_path[found.pop('controller')]
        del found['action']
        if request.method not in by_method:
            allowed = ', '.join(sorted(by_method))
            raise errors.MethodError(
                f'This path has no {request.method[:20]}: use {allowed}.', allowed)
        return by_method[request.method], found
