# SPDX-License-Identifier: Apache-2.0
"""nova-rt-exporter: the reservations of a compute host, for Prometheus.

It runs on a compute host as root, beside nova-rt-compute, and reads the same nova.conf. It
asks libvirt and the kernel alone, so it goes on when Nova, its databases or nova-rt-compute
do not answer.
"""

# Nova must be told how it runs before anything else of it is imported.
from nova import monkey_patch

monkey_patch.patch(backend='threading')

from collections.abc import Sequence  # noqa: E402
import importlib.metadata  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402

import nova.conf  # noqa: E402
from oslo_config import cfg  # noqa: E402
from oslo_log import log as logging  # noqa: E402
import prometheus_client  # noqa: E402

from nova_rt import errors  # noqa: E402
from nova_rt import kinds as server_kinds  # noqa: E402
import nova_rt.conf  # noqa: E402
from nova_rt.metrics import collector  # noqa: E402
from nova_rt.metrics import jobs  # noqa: E402
from nova_rt.metrics import servers  # noqa: E402
from nova_rt.metrics import timely  # noqa: E402
from nova_rt.reaction import counts  # noqa: E402
from nova_rt.virt import connection  # noqa: E402
from nova_rt.virt import kinds  # noqa: E402
from nova_rt.virt import this_host  # noqa: E402

LOG = logging.getLogger(__name__)

_NAME = 'nova-rt-exporter'
_ENDING = {signal.SIGTERM, signal.SIGINT}


class ListenError(errors.NovaRTError):
    """The address cannot be listened at; the message says what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve metrics until SIGTERM or SIGINT; return the exit status."""
    conf = nova.conf.CONF
    # Before there is another thread, which would get the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        _configure(conf, sys.argv[1:] if argv is None else argv)
        serve(conf)
    except (errors.NovaRTError, cfg.Error) as exc:
        sys.exit(f'{_NAME}: {exc}')
    signal.sigwait(_ENDING)
    return 0


def _configure(conf: cfg.ConfigOpts, argv: Sequence[str]) -> None:
    """Read nova.conf.

    :raises cfg.Error: if it cannot be read
    """
    logging.register_options(conf)
    nova_rt.conf.register_opts(conf)
    conf([*argv], project='nova', prog=_NAME, version=importlib.metadata.version('nova-rt'))
    logging.setup(conf, _NAME)


def serve(conf: cfg.ConfigOpts) -> None:
    """Serve metrics at ``/metrics``, by a thread of its own.

    :param conf: Nova's, with group ``[rt]`` registered
    :raises UnavailableError: if the host cannot hold reservations
    :raises ListenError: if the address cannot be listened at
    """
    metrics = prometheus_client.CollectorRegistry()
    tells = (jobs.of_container if kinds.of(conf) is server_kinds.Kind.CONTAINER
             else jobs.of_machine)
    metrics.register(timely.Timely(collector.Reservations(
        this_host.from_options(conf),
        servers.Servers(lambda: connection.connect(kinds.uri(conf), read_only=True)), tells,
        counts.counted), [collector.up(False)]))
    address, port = conf.rt.metrics_address, conf.rt.metrics_port
    try:
        prometheus_client.start_http_server(port, address, metrics)
    except OSError as exc:
        raise ListenError(
            f'Nothing can listen at {address}, port {port} ({exc.strerror}): choose others '
            'with [rt] metrics_address and metrics_port.') from None
    LOG.info('Metrics are at http://%s:%d/metrics', address, port)


if __name__ == '__main__':
    sys.exit(main())
