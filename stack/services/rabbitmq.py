# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ and the port mapper that Erlang needs, both on loopback."""

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
import socket

import amqp

from stack.service import listens
from stack.service import Service
from stack.service import Site


def is_read(site: Site, queue: str) -> bool:
    """Whether a queue has a consumer; what is sent before is lost."""
    with amqp.Connection(
            host=f'127.0.0.1:{site.port("rabbitmq")}', userid='openstack',
            password=site.password) as connection:
        try:
            declared = connection.channel().queue_declare(
                queue, passive=True)
        except amqp.exceptions.NotFound:
            return False
    return bool(declared.consumer_count)


class Epmd(Service):
    """Erlang's port mapper, on a port of ours.

    RabbitMQ would start one as a daemon on the well-known port, which
    outlives it and belongs to every Erlang program of the machine.
    """

    name = 'epmd'

    def command(self) -> Sequence[str]:
        """Return epmd's command line; it stays in the foreground."""
        return ('epmd', '-address', '127.0.0.1',
                '-port', str(self.site.port('epmd')))

    def ready(self) -> bool:
        """Whether it accepts connections."""
        return listens(self.site.port('epmd'))


class RabbitMQ(Service):
    """Debian's broker with data, node name and cookie of its own."""

    name = 'rabbitmq'
    needs = ('epmd',)

    def prepare(self) -> None:
        """Write the configuration."""
        for path in (self._data, self._etc):
            path.mkdir(parents=True, exist_ok=True)
        (self._etc / 'enabled_plugins').write_text('[].\n')
        config = self._etc / 'rabbitmq.conf'
        config.touch(mode=0o600)
        config.write_text(
            f'listeners.tcp.1 = 127.0.0.1:{self.site.port("rabbitmq")}\n'
            'default_user = openstack\n'
            f'default_pass = {self.site.password}\n'
            # Debian's default refuses to take messages below 50 MB free.
            'disk_free_limit.absolute = 10MB\n'
            'vm_memory_high_watermark.absolute = 512MB\n')

    def command(self) -> Sequence[str]:
        """Return the server's own script: Debian's wrapper changes users."""
        return ('/usr/lib/rabbitmq/bin/rabbitmq-server',)

    def environment(self) -> Mapping[str, str]:
        """Return where everything is, and that only loopback is served."""
        return {
            'HOME': str(self._data),
            'ERL_EPMD_PORT': str(self.site.port('epmd')),
            'ERL_EPMD_ADDRESS': '127.0.0.1',
            'RABBITMQ_NODENAME':
                f'nova-rt-{self.site.port("rabbitmq")}@localhost',
            'RABBITMQ_DIST_PORT': str(self.site.port('rabbitmq-cluster')),
            'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
            'RABBITMQ_CONFIG_FILE': str(self._etc / 'rabbitmq.conf'),
            'RABBITMQ_CONF_ENV_FILE': '/dev/null',
            'RABBITMQ_ENABLED_PLUGINS_FILE':
                str(self._etc / 'enabled_plugins'),
            'RABBITMQ_MNESIA_BASE': str(self._data / 'mnesia'),
            'RABBITMQ_LOG_BASE': str(self.site.rundir.logs / 'rabbitmq'),
            'RABBITMQ_PID_FILE': str(self._data / 'pid'),
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS':
                '+S 2:2 -kernel inet_dist_use_interface {127,0,0,1}',
        }

    def ready(self) -> bool:
        """Whether it answers AMQP's greeting with the start of a session."""
        try:
            with socket.create_connection(
                    ('127.0.0.1', self.site.port('rabbitmq')), 5) as peer:
                peer.sendall(b'AMQP\x00\x00\x09\x01')
                return peer.recv(1) == b'\x01'
        except OSError:
            return False

    @property
    def _data(self) -> Path:
        return self.site.rundir.data / 'rabbitmq'

    @property
    def _etc(self) -> Path:
        return self.site.rundir.etc / 'rabbitmq'
