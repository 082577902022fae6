# SPDX-License-Identifier: Apache-2.0
"""The versions of the API, as keystoneauth discovers them; nobody needs a token."""

from __future__ import annotations

from oslo_serialization import jsonutils
import webob
import webob.dec

from nova_rt.rest import errors
from nova_rt.rest import microversions


class Discovery:
    """The root of the API."""

    # WebOb ships no types.
    @webob.dec.wsgify  # type: ignore[untyped-decorator]
    def __call__(self, request: webob.Request) -> webob.Response:
        """Answer one request."""
        if request.method not in ('GET', 'HEAD'):
            return errors.response(errors.MethodError(
                f'This path has no {request.method[:20]}: use GET.', 'GET, HEAD'),
                request.environ)
        return webob.Response(
            content_type='application/json', charset='UTF-8',
            text=jsonutils.dumps({'versions': [{
                'id': 'v1.0', 'status': 'CURRENT',
                'min_version': microversions.VERSIONS[0],
                'max_version': microversions.VERSIONS[-1],
                'links': [{'rel': 'self', 'href': request.application_url}]}]}))
