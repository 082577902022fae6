# SPDX-License-Identifier: Apache-2.0
"""Metrics in time, though what they come from may not answer."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import threading

from oslo_log import log as logging
from prometheus_client import core
from prometheus_client import registry

LOG = logging.getLogger(__name__)

# Prometheus gives a scrape 10 s by default.
PATIENCE_S = 5.0


class Timely(registry.Collector):
    """Collects in a thread, and tells something else where that takes too long.

    A libvirtd that hangs keeps that one thread, and no scrape.

    :param collector: whose metrics are told
    :param instead: what is told while it does not answer
    :param patience_s: how long a scrape waits for it
    """

    def __init__(self, collector: registry.Collector, instead: Sequence[core.Metric],
                 patience_s: float = PATIENCE_S) -> None:
        self._collector = collector
        self._instead = instead
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._collected: Sequence[core.Metric] | None = None

    def collect(self) -> Iterable[core.Metric]:
        """Return the metrics as they are now, or what is told instead of them."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._collected = None
                self._thread = threading.Thread(
                    target=self._collect, name='nova-rt metrics', daemon=True)
                self._thread.start()
                self._thread.join(self._patience_s)
            if self._collected is None:
                LOG.warning('There is nothing to tell within %s s: no server is shown',
                            self._patience_s)
                return self._instead
            return self._collected

    def _collect(self) -> None:
        try:
            self._collected = list(self._collector.collect())
        except Exception:
            LOG.exception('No server is shown')
