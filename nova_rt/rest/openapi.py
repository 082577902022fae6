# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of the API, made from its endpoints.

``python -m nova_rt.rest.openapi`` prints it; ``doc/source/reference/openapi.json`` is that.
"""

from __future__ import annotations

from http import HTTPStatus
import re
import sys

from oslo_serialization import jsonutils

from nova_rt.rest import endpoints
from nova_rt.rest import microversions
from nova_rt.rest import routes
from nova_rt.rest import schemas
from nova_rt.rest.endpoints import Json
from nova_rt.rest.endpoints import Schema

# What any endpoint may answer.
_REFUSALS = (400, 401, 403, 406, 503)
_IN_PATH = re.compile(r'{(\w+)}')


def document() -> Json:
    """Return the document, of OpenAPI 3.1."""
    paths: dict[str, Json] = {}
    for endpoint in routes.ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        'openapi': '3.1.0',
        'info': {'title': "nova-rt: the operator's API",
                 'version': microversions.VERSIONS[-1],
                 'license': {'name': 'Apache-2.0', 'identifier': 'Apache-2.0'}},
        'servers': [{'url': '/rt'}],
        'security': [{'token': []}],
        'paths': paths,
        'components': {
            'schemas': {'Error': schemas.ERROR},
            'securitySchemes': {'token': {
                'type': 'apiKey', 'in': 'header', 'name': 'X-Auth-Token'}}},
    }


def _operation(endpoint: endpoints.Endpoint) -> Json:
    handler = endpoint.handle
    operation: Json = {
        'operationId': handler.__name__, 'summary': f'{endpoint.summary}.',
        'description': f'Policy: {endpoint.rule}', 'parameters': _parameters(endpoint),
        'responses': {'200': _content('OK', endpoint.answer)} | {
            str(status): _content(HTTPStatus(status).phrase, _ERROR)
            for status in sorted({*_REFUSALS, *endpoint.refusals})}}
    # Keystone's middleware and what is before ours answer in forms of their own.
    operation['responses']['401'] = {'description': HTTPStatus(401).phrase}
    if endpoint.body is not None:
        operation['requestBody'] = {
            'required': True, 'content': {'application/json': {'schema': endpoint.body}}}
    return operation


_ERROR: Schema = {'$ref': '#/components/schemas/Error'}


def _parameters(endpoint: endpoints.Endpoint) -> list[Json]:
    version: Json = {
        'name': microversions.HEADER, 'in': 'header',
        'schema': {'type': 'string', 'default':
                   f'{microversions.SERVICE_TYPE} {microversions.VERSIONS[0]}'}}
    return [version, *(
        {'name': name, 'in': 'path', 'required': True, 'schema': {'type': 'string'}}
        for name in _IN_PATH.findall(endpoint.path)), *(
        {'name': name, 'in': 'query', 'schema': schema}
        for name, schema in endpoint.query.items())]


def _content(description: str, schema: Schema) -> Json:
    return {'description': description, 'content': {'application/json': {'schema': schema}}}


def main() -> None:
    """Print the document."""
    sys.stdout.write(jsonutils.dumps(document(), indent=1, sort_keys=True) + '\n')


if __name__ == '__main__':
    main()
