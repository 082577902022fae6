# SPDX-License-Identifier: Apache-2.0
"""The one arithmetic of nova-rt: CPU bandwidth in the kernel's fixed point.

A bandwidth is the integer ``(runtime << 20) // period``, as ``to_ratio()`` in
the kernel's ``kernel/sched/core.c`` computes it, so that scheduler, claim and
kernel add the same numbers. ``BW_UNIT`` is one whole CPU.
"""

BW_SHIFT = 20
BW_UNIT = 1 << BW_SHIFT

# SCHED_DEADLINE's own limits (sched_deadline_period_min_us and _max_us), and
# DL_SCALE's 1024 ns rounded up to whole microseconds.
MIN_RUNTIME_US = 2
MIN_PERIOD_US = 100
MAX_PERIOD_US = 1 << 22


def to_bandwidth(runtime_us: int, period_us: int) -> int:
    """Return runtime over period as fixed point, rounded down.

    :param runtime_us: runtime in µs, not negative
    :param period_us: period in µs, positive
    """
    return (runtime_us << BW_SHIFT) // period_us


def fraction_to_bandwidth(fraction: float) -> int:
    """Return a configured fraction of a CPU (0.95) as fixed point.

    Multiplying a float by a power of two is exact, so 0.95 gives the same as
    ``to_bandwidth(950000, 1000000)``.
    """
    return int(fraction * BW_UNIT)


def runtime_covering(bandwidth: int, period_us: int) -> int:
    """Return the least runtime in µs whose bandwidth is at least this one.

    Used for a parent group, which must not fall short of its children by the
    rounding of :func:`to_bandwidth`.
    """
    return -(-bandwidth * period_us // BW_UNIT)


def longest_runtime(bandwidth: int, period_us: int) -> int:
    """Return the largest runtime in µs, of at most a period, whose bandwidth is at most this.

    The inverse of :func:`to_bandwidth`, which rounds down.
    """
    return min(period_us, ((bandwidth + 1) * period_us - 1) >> BW_SHIFT)


def percent(bandwidth: int) -> str:
    """Return a bandwidth as people read it: ``percent(BW_UNIT // 2)`` is 50%.

    One decimal, rounded to nearest and only if it is not zero.
    """
    text = f'{bandwidth * 100 / BW_UNIT:.1f}'
    return text.removesuffix('.0') + '%'


def cpus(bandwidth: int) -> float:
    """Return a share in CPUs with four decimals, for people and databases.

    Half up, as the database columns are, and few enough that 64 pCPUs at 0.95
    read 60.8, although each is rounded down.
    """
    return (bandwidth * 10_000 + BW_UNIT // 2 >> BW_SHIFT) / 10_000
