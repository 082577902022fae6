# SPDX-License-Identifier: Apache-2.0
"""Makes room for servers that miss deadlines, where nothing else helps."""

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


def nowhere(server: str) -> bool:
    """Leave a server where it is."""
    return False


def nobody(server: str, asked_s: float) -> bool:
    """Stop no other server for one."""
    return False


class Relief:
    """Does one thing after the other, so that nobody waits for Nova's locks and database.

    :param move: moves a vCPU of a server; returns whether there was a better pCPU for one
    :param moved: is told of a server that was moved
    :param evict: stops another server for one that asked then, by CLOCK_MONOTONIC; returns
        whether there was one to stop
    """

    def __init__(self, move: Callable[[str], bool], moved: Callable[[str], None],
                 evict: Callable[[str, float], bool] = nobody) -> None:
        self._move = move
        self._moved = moved
        self._evict = evict
        self._waiting: queue.Queue[tuple[str, float] | None] = queue.Queue(_MOST)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name='nova-rt relief', daemon=True)
        self._thread.start()

    def ask(self, server: str) -> None:
        """Move a server to better pCPUs, or stop another for it, as soon as it is its turn."""
        try:
            self._waiting.put_nowait((server, time.monotonic()))
        except queue.Full:
            LOG.debug('Too many servers wait for room to let %s wait.', server)

    def end(self) -> None:
        """Begin nothing any more, and wait for what is under way."""
        self._ended.set()
        with contextlib.suppress(queue.Full):
            # It may wait for somebody.
            self._waiting.put_nowait(None)
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        while (asked := self._waiting.get()) is not None and not self._ended.is_set():
            began_s = time.monotonic()
            self._relieve(*asked)
            self._ended.wait(_REST * (time.monotonic() - began_s))

    def _relieve(self, server: str, asked_s: float) -> None:
        try:
            if self._is_moved(server):
                self._moved(server)
            else:
                self._evict(server, asked_s)
        except exception.NotFound:
            LOG.debug('The server %s has gone.', server)
        except Exception as exc:
            LOG.warning('The server %s misses deadlines, and no room could be made for it: %s',
                        server, exc)

    def _is_moved(self, server: str) -> bool:
        try:
            return self._move(server)
        except exception.NotFound:
            raise
        except Exception as exc:
            LOG.warning('The server %s misses deadlines, and could not be moved: %s',
                        server, exc)
            return False
