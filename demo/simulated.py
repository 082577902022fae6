# SPDX-License-Identifier: Apache-2.0
"""A cloud in one process, with a simulated host: ``python -m demo.simulated``.

API, conductor, scheduler, Placement and the compute service with our manager,
tracker and claims are Nova's own, on SQLite and ``fake://``; the container
driver and the kernel are simulated. It runs as one long functional test, so
that Nova's fixtures set it up. Keystone and Glance answer in demo.fake_services.
"""

from collections.abc import Iterable

# Before all of Nova, which chooses between threads and eventlet only once.
from nova_rt.testing import native_threads  # isort: skip  # noqa: F401

import signal
import socketserver
import sys
from typing import Any
import unittest
from wsgiref import simple_server
from wsgiref.types import StartResponse

from demo import fake_services
from nova_rt import bandwidth
from nova_rt.testing import cloud

HOST = 'simulated-1'

Environ = dict[str, Any]


class Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    """Serves clients in parallel."""

    daemon_threads = True


class QuietHandler(simple_server.WSGIRequestHandler):
    """Does not log each request."""

    def log_message(self, *args: object) -> None:
        """Log nothing."""


class SimulatedCloud(cloud.CloudTestCase):
    """The cloud, which is up while its only test runs."""

    port = 0

    def runTest(self) -> None:
        """Serve until SIGTERM."""
        self._compute = self._start_compute(HOST)
        self._compute_api = self.api_fixture.app()
        self._image = self.glance.auto_disk_config_enabled_image['id']
        server = simple_server.make_server(
            '127.0.0.1', self.port, self.answer, Server, QuietHandler)
        server.serve_forever()

    def answer(
        self, environ: Environ, start_response: StartResponse,
    ) -> Iterable[bytes]:
        """Answer one request; a WSGI application."""
        path = environ['PATH_INFO']
        if path.startswith('/compute/'):
            return self._ask_nova(environ, start_response)
        if path == '/simulated':
            status, body = 200, self._held()
        else:
            base = f'http://127.0.0.1:{self.port}'
            status, body = fake_services.answer(environ, base, self._image)
        return fake_services.send(start_response, status, body)

    def _ask_nova(
        self, environ: Environ, start_response: StartResponse,
    ) -> Iterable[bytes]:
        user = environ.get('HTTP_X_AUTH_TOKEN', 'demo')
        roles = 'reader,member,admin' if user == 'admin' else 'reader,member'
        environ.update(
            SCRIPT_NAME='/compute',
            PATH_INFO=environ['PATH_INFO'].removeprefix('/compute'),
            HTTP_X_AUTH_USER=user, HTTP_X_AUTH_PROJECT_ID=fake_services.PROJECT,
            HTTP_X_ROLES=roles)
        answer: Iterable[bytes] = self._compute_api(environ, start_response)
        return answer

    def _held(self) -> dict[str, dict[int, float]]:
        """Return by server's id what the simulated kernel holds, by pCPU."""
        kernel = self.kernel_of(self._compute)
        return {
            group.removeprefix('machine/'): {
                cpu: bw / bandwidth.BW_UNIT
                for cpu, bw in enumerate(kernel.bandwidths(group)) if bw}
            for group in kernel.children('machine')}


def main() -> int:
    """Run the cloud on the given port, the only argument."""
    SimulatedCloud.port = int(sys.argv[1])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    result = unittest.TestResult()
    SimulatedCloud('runTest').run(result)
    for _, trace in (*result.errors, *result.failures):
        print(trace, file=sys.stderr)
    return 1 if result.errors or result.failures else 0


if __name__ == '__main__':
    sys.exit(main())
