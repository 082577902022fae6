# SPDX-License-Identifier: Apache-2.0
"""Tells of reactions where users look: in the events of a server."""

from __future__ import annotations

import queue
import threading

from nova import context as nova_context
from oslo_log import log as logging

from nova_rt.instance import actions

LOG = logging.getLogger(__name__)

ACTION = 'rt_loan'
SHRINK = 'rt_shrink'
MOVE = 'rt_move'
EVICT = 'rt_evict'
# What waits for Nova's database; more is left to the log.
_MOST = 100
# How long a stop waits for what is left.
_PATIENCE_S = 5.0


class Records:
    """Writes them one after the other, so that nobody waits for Nova's database."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[str, str, str] | None] = queue.Queue(_MOST)
        self._thread = threading.Thread(target=self._write, name='nova-rt records', daemon=True)
        self._thread.start()

    def tell(self, server: str, sentence: str) -> None:
        """Record an action of a server: ``openstack server event list``."""
        self._put(server, sentence, ACTION)

    def tell_shrunk(self, server: str, sentence: str) -> None:
        """Record that a server was shrunk, or has its reservation again."""
        self._put(server, sentence, SHRINK)

    def tell_moved(self, server: str) -> None:
        """Record that a vCPU of a server was moved to where more can be lent to it."""
        self._put(server, 'As it misses deadlines, a vCPU of it was moved to another CPU of '
                          'its host, where more can be lent to it.', MOVE)

    def _put(self, server: str, sentence: str, action: str) -> None:
        try:
            self._waiting.put_nowait((server, sentence, action))
        except queue.Full:
            LOG.warning('Not recorded for server %s, as too much waits for it: %s',
                        server, sentence)

    def close(self) -> None:
        """Write what is left, if that is soon done."""
        try:
            self._waiting.put(None, timeout=_PATIENCE_S)
        except queue.Full:
            return
        self._thread.join(_PATIENCE_S)

    def _write(self) -> None:
        while (told := self._waiting.get()) is not None:
            write(*told)


def write(server: str, sentence: str, action: str) -> None:
    """Record an action of a server now; what Nova's database refuses is logged."""
    actions.record(nova_context.get_admin_context(), server, action, sentence)
