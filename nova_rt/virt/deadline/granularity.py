# SPDX-License-Identifier: Apache-2.0
"""When the kernel ends the turn of a SCHED_DEADLINE thread that has used up its runtime.

With the scheduler's feature HRTICK_DL and high resolution timers, one ends it exactly
(start_hrtick_dl() in kernel/sched/deadline.c). Without either, the next tick does
(task_tick_dl()), and what the thread had too much is taken off its next period
(replenish_dl_entity()).
"""

import gzip
import pathlib
import platform
import re
import time

FEATURES = pathlib.Path('/sys/kernel/debug/sched/features')
WANTED = 'HRTICK_DL'
# Where timers end at ticks, as with highres=off, clocks have a tick's resolution, too
# (hrtimer_resolution in kernel/time/hrtimer.c).
_EXACT_S = 1e-6
# The slowest tick that a kernel can be built with (kernel/Kconfig.hz).
_SLOWEST_HZ = 100


def is_exact() -> bool:
    """Return whether a timer is known to end turns.

    It is not known where debugfs is not mounted, or where nobody may read it because the
    kernel is locked down.
    """
    if not has_exact_timers():
        return False
    try:
        return WANTED in FEATURES.read_text().split()
    except OSError:
        return False


def has_exact_timers() -> bool:
    """Return whether the kernel has high resolution timers, and uses them."""
    return time.clock_getres(time.CLOCK_MONOTONIC) <= _EXACT_S


def tick_us(boot: pathlib.Path = pathlib.Path('/boot'),
            proc: pathlib.Path = pathlib.Path('/proc')) -> int:
    """Return the time between two ticks, in µs.

    The kernel says it in its configuration only, which distributions keep in /boot, and
    some kernels show themselves (CONFIG_IKCONFIG_PROC). The longest possible time is assumed
    where it is in neither.
    """
    frequency = re.search(r'^CONFIG_HZ=(\d+)$', _configuration(boot, proc), re.MULTILINE)
    return 1_000_000 // (int(frequency[1]) if frequency else _SLOWEST_HZ)


def _configuration(boot: pathlib.Path, proc: pathlib.Path) -> str:
    try:
        return gzip.decompress((proc / 'config.gz').read_bytes()).decode()
    except OSError:
        pass
    try:
        return (boot / f'config-{platform.release()}').read_text()
    except OSError:
        return ''
