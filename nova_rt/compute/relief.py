# SPDX-License-Identifier: Apache-2.0
"""Moves vCPUs of servers that miss deadlines to where more can be lent to them."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import queue
import threading
import time

from nova import exception
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

# Those that wait; the others ask again while they miss deadlines.
_MOST = 16
# Tenants say what they miss: the host is to admit others nine tenths of the time at least.
_REST = 9
# How long a stop waits for a move that is under way.
_PATIENCE_S = 10.0


class Relief:
    """Makes one move after the other, so that nobody waits for Nova's locks and database.

    :param move: moves a vCPU of a server; returns whether there was a better pCPU for one
    :param moved: is told of a server that was moved
    """

    def __init__(self, move: Callable[[str], bool], moved: Callable[[str], None]) -> None:
        self._move = move
        self._moved = moved
        self._waiting: queue.Queue[str | None] = queue.Queue(_MOST)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name='nova-rt relief', daemon=True)
        self._thread.start()

    def ask(self, server: str) -> None:
        """Move a server to better pCPUs, if there are any, as soon as it is its turn."""
        try:
            self._waiting.put_nowait(server)
        except queue.Full:
            LOG.debug('Too many servers are to be moved to let %s wait.', server)

    def end(self) -> None:
        """Begin no move any more, and wait for the one that is under way."""
        self._ended.set()
        with contextlib.suppress(queue.Full):
            # It may wait for somebody.
            self._waiting.put_nowait(None)
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        while (server := self._waiting.get()) is not None and not self._ended.is_set():
            began_s = time.monotonic()
            self._relieve(server)
            self._ended.wait(_REST * (time.monotonic() - began_s))

    def _relieve(self, server: str) -> None:
        try:
            if self._move(server):
                self._moved(server)
        except exception.NotFound:
            LOG.debug('The server %s has gone.', server)
        except Exception as exc:
            LOG.warning('The server %s misses deadlines, and no vCPU of it could be moved: %s',
                        server, exc)
