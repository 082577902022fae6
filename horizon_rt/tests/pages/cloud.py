# SPDX-License-Identifier: Apache-2.0
"""A cloud that is none: HTTP on loopback, with the answers that a test gives it.

For the faults that a real one has only when it breaks; the tests in a browser have the real
one.
"""

import http.server
import json
import threading
from urllib import parse


class Cloud:
    """Answers ``(method, path)`` with a status and a body; anything else with 404.

    :ivar asked: method, path, headers and body of each request, in their order
    """

    def __init__(self):
        self.answers = {}
        self.asked = []
        self._events = {}
        self._server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def url(self):
        """Where it is."""
        return f'http://127.0.0.1:{self._server.server_port}'

    def says(self, method, path, body, status=200, kind='application/json'):
        """Give the answer to a request."""
        self.answers[method, path] = (status, body, kind)

    def after(self, method, path, event):
        """Have something happen when a request has come."""
        self._events[method, path] = event

    def refuses(self, method, path, status, sentence):
        """Answer a request as nova-rt refuses one."""
        self.says(method, path, {'errors': [
            {'status': status, 'title': 'No', 'detail': sentence, 'request_id': 'r'}]}, status)

    def requests(self, method):
        """Return path and body of each request by this method."""
        return [(path, body) for name, path, _, body in self.asked if name == method]

    def stop(self):
        """Answer no more: connections are refused."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def _handler(cloud):  # noqa: N805
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self):
                size = int(self.headers.get('Content-Length', 0))
                read = self.rfile.read(size)
                path = parse.urlsplit(self.path).path
                cloud.asked.append((self.command, path, dict(self.headers),
                                    json.loads(read) if read else None))
                status, body, kind = cloud.answers.get(
                    (self.command, path), (404, {}, 'application/json'))
                text = body if isinstance(body, str) else json.dumps(body)
                cloud._events.get((self.command, path), lambda: None)()
                self.send_response(status)
                self.send_header('Content-Type', kind)
                self.send_header('Content-Length', str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_DELETE = do_PATCH = answer  # noqa: N815
        return Handler
