# SPDX-License-Identifier: Apache-2.0
"""How a thread is scheduled: the kernel's ``struct sched_attr``."""

import dataclasses

from nova_rt import bandwidth
from nova_rt import reservation

SCHED_DEADLINE = 6
# Without it a thread cannot create threads, and QEMU aborts (sched_fork()).
RESET_ON_FORK = 0x01


@dataclasses.dataclass(frozen=True, slots=True)
class Attributes:
    """A thread's policy and what belongs to it; times in ns.

    :ivar policy: SCHED_OTHER and others as in :mod:`os`, or SCHED_DEADLINE
    :ivar nice: of a normal thread
    :ivar priority: of a SCHED_FIFO or SCHED_RR thread
    :ivar runtime_ns: of a SCHED_DEADLINE thread, as are deadline and period
    """

    policy: int = 0
    flags: int = 0
    nice: int = 0
    priority: int = 0
    runtime_ns: int = 0
    deadline_ns: int = 0
    period_ns: int = 0

    @property
    def bandwidth(self) -> int:
        """The bandwidth in fixed point, 0 unless it is SCHED_DEADLINE."""
        if self.policy != SCHED_DEADLINE:
            return 0
        return bandwidth.to_bandwidth(self.runtime_ns, self.period_ns)

    def __str__(self) -> str:
        if self.policy != SCHED_DEADLINE:
            return f'policy {self.policy}'
        return (f'SCHED_DEADLINE with {self.runtime_ns // 1000} µs every '
                f'{self.period_ns // 1000} µs')


# As little as the kernel can account.
LEAST = Attributes(SCHED_DEADLINE, RESET_ON_FORK, runtime_ns=2_000,
                   deadline_ns=100_000_000, period_ns=100_000_000)


def of_reservation(wanted: reservation.Reservation) -> Attributes:
    """Return how a thread with one vCPU's part of a reservation is scheduled."""
    period_ns = wanted.period_us * 1000
    return Attributes(
        SCHED_DEADLINE, RESET_ON_FORK, runtime_ns=wanted.runtime_us * 1000,
        deadline_ns=period_ns, period_ns=period_ns)
