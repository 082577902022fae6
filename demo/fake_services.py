# SPDX-License-Identifier: Apache-2.0
"""The answers that the openstack client needs from Keystone and Glance.

There are two users, ``admin`` and ``demo``, whose token is their name, and one
image. This is a stand-in for the simulated cloud, without any security.
"""

from collections.abc import Callable
from collections.abc import Iterable
from http import HTTPStatus
import json
from typing import Any

PROJECT = '6f70656e737461636b20636c69656e74'
NEVER = '2999-01-01T00:00:00.000000Z'
IMAGE = 'busybox'

# Type in the catalogue: path of its URL.
CATALOGUE = {
    'identity': '/identity/v3', 'compute': '/compute/v2.1',
    'image': '/image',
}


def answer(
    environ: dict[str, Any], base: str, image: str,
) -> tuple[int, dict[str, Any]]:
    """Return status and body of the answer to a request that is not for Nova.

    :param base: this server's URL.
    :param image: the id of the one image.
    """
    path = environ['PATH_INFO'].rstrip('/')
    if path in ('/identity', '/identity/v3'):
        return 200, {'version': _version('v3.14', base + '/identity/v3')}
    if path == '/identity/v3/auth/tokens':
        return 201, {'token': _token(_user(environ), base)}
    if path == '/image':
        return 200, {'versions': [_version('v2.9', base + '/image/v2/')]}
    described = {
        'id': image, 'name': IMAGE, 'status': 'active', 'visibility': 'public',
        'disk_format': 'raw', 'container_format': 'bare', 'min_disk': 0,
        'min_ram': 0, 'size': 1}
    if path == '/image/v2/images':
        return 200, {'images': [described]}
    if path == f'/image/v2/images/{image}':
        return 200, described
    return 404, {'error': {'code': 404, 'message': f'No {path} here.'}}


def send(
    start_response: Callable[..., object], status: int, body: dict[str, Any],
) -> Iterable[bytes]:
    """Send a body as JSON, with a new session's token in the header."""
    headers = [('Content-Type', 'application/json')]
    if 'token' in body:
        headers.append(('X-Subject-Token', body['token']['user']['name']))
    start_response(f'{status} {HTTPStatus(status).phrase}', headers)
    return [json.dumps(body).encode()]


def _user(environ: dict[str, Any]) -> str:
    size = int(environ.get('CONTENT_LENGTH') or 0)
    request = json.loads(environ['wsgi.input'].read(size))
    return str(request['auth']['identity']['password']['user']['name'])


def _token(user: str, base: str) -> dict[str, Any]:
    return {
        'methods': ['password'], 'expires_at': NEVER, 'issued_at': NEVER,
        'user': {'id': user, 'name': user, 'domain': _DOMAIN},
        'project': {'id': PROJECT, 'name': user, 'domain': _DOMAIN},
        'roles': [{'id': user, 'name': user}],
        'catalog': [
            {'id': kind, 'type': kind, 'name': kind, 'endpoints': [{
                'id': kind, 'interface': 'public', 'region': 'RegionOne',
                'region_id': 'RegionOne', 'url': base + path}]}
            for kind, path in CATALOGUE.items()]}


def _version(name: str, url: str) -> dict[str, Any]:
    return {'id': name, 'status': 'CURRENT', 'updated': NEVER,
            'links': [{'rel': 'self', 'href': url}]}


_DOMAIN = {'id': 'default', 'name': 'Default'}
