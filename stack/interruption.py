# SPDX-License-Identifier: Apache-2.0
"""What Ctrl-C and SIGTERM do to a program that has something to give back."""

from collections.abc import Iterator
import contextlib
import signal
import threading


def interruptible() -> None:
    """Let SIGTERM end the program as Ctrl-C does, cleaning up."""
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM, if this is the thread that gets them."""
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
