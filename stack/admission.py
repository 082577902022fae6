# SPDX-License-Identifier: Apache-2.0
"""``python -m stack.admission DIRECTORY PID``: keeps kernel.sched_rt_runtime_us at -1.

With any other value, the kernel refuses SCHED_DEADLINE to pinned threads. The value
is the whole machine's, so one process at a time may change it: it holds a lock, and sets
the value back when it is terminated, or when the process PID has ended without KEPT.
"""

import errno
import fcntl
from pathlib import Path
import signal
import sys
import time

SYSCTL = Path('/proc/sys/kernel/sched_rt_runtime_us')
LOCK = Path('/run/nova-rt-sched-rt-runtime.lock')
# Files in DIRECTORY: that the value is set, and that it stays when PID ends.
SET, KEPT = 'admission-off', 'admission-kept'
PATIENCE = 15.0  # seconds in which the kernel must take the old value again


def main() -> None:
    """Set the value, wait, and set it back."""
    directory, launcher = Path(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGTERM, _end)
    with LOCK.open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = SYSCTL.read_text()
        try:
            SYSCTL.write_text('-1\n')
            (directory / SET).touch()
            while Path(f'/proc/{launcher}').exists() or (directory / KEPT).exists():
                time.sleep(0.5)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            _restore(before)


def _end(number: int, frame: object) -> None:
    raise SystemExit


def _restore(before: str) -> None:
    """Set the value as soon as the kernel lets it, which counts threads that have ended."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            SYSCTL.write_text(before)
            return
        except OSError as exc:
            if exc.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.05)


if __name__ == '__main__':
    main()
