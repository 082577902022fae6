# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM in programs that have to clean up."""

from collections.abc import Iterator
import contextlib
import signal
import threading


def interruptible() -> None:
    """Make SIGTERM raise KeyboardInterrupt, as Ctrl-C does, so that the program cleans up."""
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN)
              for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
