# SPDX-License-Identifier: Apache-2.0
"""Refusals of the API, and how they are written: one sentence, as JSON.

Their form is that of the API-SIG's guideline "Errors", which Placement has as well.
"""

from __future__ import annotations

from typing import Any

from oslo_middleware import request_id
from oslo_serialization import jsonutils
import webob
import webob.exc

from nova_rt import errors


class RefusedError(errors.NovaRTError):
    """The request cannot be answered; the message is a sentence for the caller.

    :cvar status: the HTTP status
    """

    status = 400


class ForbiddenError(RefusedError):
    """The caller's roles do not allow it."""

    status = 403


class NotFoundError(RefusedError):
    """There is no such thing, or the caller may not see it."""

    status = 404


class MethodError(RefusedError):
    """The path is right and the method is wrong."""

    status = 405

    def __init__(self, sentence: str, allowed: str) -> None:
        super().__init__(sentence)
        self.allowed = allowed


class VersionError(RefusedError):
    """There is no such version of the API."""

    status = 406


class ConflictError(RefusedError):
    """What is asked for is impossible as things are now."""

    status = 409


class ContentTypeError(RefusedError):
    """The body is not said to be JSON."""

    status = 415


class UnavailableError(RefusedError):
    """A database, Placement or the server's host does not answer."""

    status = 503


def response(refused: RefusedError, environ: dict[str, Any]) -> webob.Response:
    """Return the answer that says why there is no other."""
    status = webob.exc.status_map[refused.status]
    answer = webob.Response(
        status=refused.status, content_type='application/json', charset='UTF-8',
        text=jsonutils.dumps({'errors': [{
            'status': refused.status, 'title': status.title, 'detail': str(refused),
            'request_id': environ.get(request_id.ENV_REQUEST_ID, '')}]}))
    if isinstance(refused, MethodError):
        answer.headers['Allow'] = refused.allowed
    return answer
