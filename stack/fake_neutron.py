# SPDX-License-Identifier: Apache-2.0
"""A Neutron without networks: ``python -m stack.fake_neutron PORT``."""

from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
import json
import sys

# Path: the collection that is empty there.
EMPTY = {
    '/v2.0/ports': 'ports',
    '/v2.0/networks': 'networks',
    '/v2.0/subnets': 'subnets',
    '/v2.0/security-groups': 'security_groups',
    '/v2.0/floatingips': 'floatingips',
    '/v2.0/extensions': 'extensions',
}


class Handler(BaseHTTPRequestHandler):
    """Answers a GET of a known collection with an empty list."""

    protocol_version = 'HTTP/1.1'

    def do_GET(self) -> None:
        """Answer 200 with an empty collection, or 404."""
        name = EMPTY.get(self.path.partition('?')[0].removesuffix('.json'))
        if name is None:
            self._send(404, {'NeutronError': {
                'type': 'NotFound', 'detail': '',
                'message': 'This stack has no networks.'}})
        else:
            self._send(200, {name: []})

    def _send(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == '__main__':
    ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler
                        ).serve_forever()
