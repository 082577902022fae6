# SPDX-License-Identifier: Apache-2.0
"""Switches the kernel's own admission of SCHED_DEADLINE off for a test.

kernel.sched_rt_runtime_us is the whole machine's: while it is -1, real-time groups
are not enforced either. So it is changed for as short as possible, by one process
at a time, and put back.
"""

from collections.abc import Iterator
import contextlib
import errno
import fcntl
import pathlib
import time

_SYSCTL = pathlib.Path('/proc/sys/kernel/sched_rt_runtime_us')
_PATIENCE_S = 15
_LOCK = pathlib.Path('/run/nova-rt-sched-rt-runtime.lock')


@contextlib.contextmanager
def admission_off() -> Iterator[None]:
    """Let kernel.sched_rt_runtime_us be -1; afterwards what it was.

    The threads that got SCHED_DEADLINE meanwhile must have ended by then.
    """
    with _LOCK.open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = _SYSCTL.read_text()
        _SYSCTL.write_text('-1\n')
        try:
            yield
        finally:
            _restore(before)


def _restore(before: str) -> None:
    """Set the limit again, as soon as the kernel lets it.

    It keeps counting the bandwidth of a thread that slept when it gave SCHED_DEADLINE up
    (Linux 6.18), and refuses a limit below what it counts; the refused write makes it
    count anew.
    """
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            _SYSCTL.write_text(before)
            return
        except OSError as exc:
            if exc.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.05)
