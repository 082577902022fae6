# SPDX-License-Identifier: Apache-2.0
"""The least that vCPUs get in a second, as the kernel accounts it."""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
from dataclasses import dataclass
import os
from pathlib import Path
import time

import numpy as np

from nova_rt.model import supply as model
from nova_rt.virt.deadline.attributes import Attributes
from nova_rt.virt.deadline.attributes import SCHED_DEADLINE
from nova_rt.virt.deadline.scheduler import Scheduler
from stack.vcpus import Machine
from stack.vcpus import used

SECOND_NS = 1_000_000_000
SECOND_US = 1_000_000
# Often enough for a second that begins at any moment of a period.
PAUSE_NS = 5_000_000
# What a sample takes at most, of some vCPUs.
SAMPLE_NS = 1_000_000
# Above every hog, so that no sample is late; a vCPU under SCHED_DEADLINE still goes first.
PRIORITY = 99
USER_TICK_NS = SECOND_NS // os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class Supply:
    """What a vCPU got, from a first sample to a last.

    The kernel accounts a thread that runs at the latest at its next tick, so what a sample
    says may be a tick too little.

    :ivar times_ns: of the samples
    :ivar used_ns: the CPU time used until each; between two it is taken to grow steadily
    :ivar stolen_ns: what this machine's own hypervisor had taken of all its pCPUs until
        each; empty if nobody looked
    """

    times_ns: tuple[int, ...]
    used_ns: tuple[int, ...]
    stolen_ns: tuple[int, ...] = ()

    def share(self) -> float:
        """Return the share of a pCPU from the first sample to the last."""
        return ((self.used_ns[-1] - self.used_ns[0])
                / (self.times_ns[-1] - self.times_ns[0]))

    def in_any_second(self) -> float:
        """Return the least share of a pCPU in a second that begins at any sample.

        :raises ValueError: if the samples span less than a second
        """
        return float(self._shares(np.array(self.times_ns)).min())

    def in_whole_periods(self, period_us: int, and_stolen: bool = False) -> float:
        """Return the least share in a second that begins with a period.

        The kernel does not say when periods begin. As every period has its runtime, there
        is a moment for which this holds in all of them: the one with the largest least.

        :param period_us: of the reservation; a divisor of a second
        :param and_stolen: count what this machine's hypervisor took in a second as got, as
            no scheduler in here can give it
        :raises ValueError: if the samples span less than a second and a period
        """
        period_ns = period_us * 1000
        first, last = self.times_ns[0], self.times_ns[-1]
        shares = self._shares_and_stolen if and_stolen else self._shares
        return max(
            float(shares(np.arange(first + phase, last, period_ns)).min())
            for phase in np.unique((np.array(self.times_ns) - first) % period_ns))

    def _shares(self, begin_ns: 'np.ndarray[tuple[int], np.dtype[np.int64]]'
                ) -> 'np.ndarray[tuple[int], np.dtype[np.float64]]':
        """Return the share in each second that begins then, and has ended by the last sample."""
        return self._grown(begin_ns, self.used_ns) / SECOND_NS

    def _shares_and_stolen(self, begin_ns: 'np.ndarray[tuple[int], np.dtype[np.int64]]'
                           ) -> 'np.ndarray[tuple[int], np.dtype[np.float64]]':
        """Return the share in each second and what was stolen in it.

        The kernel tells that in whole ticks of user space: where some is seen, up to one
        more was taken.
        """
        stolen = self._grown(begin_ns, self.stolen_ns)
        return self._shares(begin_ns) + np.where(
            stolen > 0, stolen + USER_TICK_NS, 0) / SECOND_NS

    def _grown(self, begin_ns: 'np.ndarray[tuple[int], np.dtype[np.int64]]',
               sampled: tuple[int, ...]) -> 'np.ndarray[tuple[int], np.dtype[np.float64]]':
        """Return by how much what was sampled grew in each second that ended in time."""
        begin = begin_ns[begin_ns + SECOND_NS <= self.times_ns[-1]]
        return (np.interp(begin + SECOND_NS, self.times_ns, sampled)
                - np.interp(begin, self.times_ns, sampled))


def promised(runtime_us: int, period_us: int) -> float:
    """Return the least share in any second that the sizing model promises."""
    return model.Resource(runtime_us, period_us).sbf(SECOND_US) / SECOND_US


def watch(machines: Iterable[Machine], seconds: float, before_vcpus: bool = False,
          ) -> dict[str, dict[int, Supply]]:
    """Watch virtual machines for some seconds; return what each got, by server and pCPU.

    :param before_vcpus: do not let vCPUs delay samples, which takes some percent of a pCPU
    """
    machines = list(machines)
    samples: dict[str, dict[int, list[tuple[int, int, int]]]] = {
        machine.server: {pcpu: [] for pcpu in machine.threads} for machine in machines}
    end = time.monotonic() + seconds
    with before_all() if before_vcpus else above_hogs():
        while time.monotonic() < end:
            stolen = stolen_ns()
            for machine in machines:
                for pcpu, sample in used(machine).items():
                    samples[machine.server][pcpu].append((*sample, stolen))
            time.sleep(PAUSE_NS / SECOND_NS)
    return {server: {pcpu: Supply(*zip(*taken, strict=True))
                     for pcpu, taken in by_pcpu.items()}
            for server, by_pcpu in samples.items()}


def stolen_ns(pcpu: int | None = None) -> int:
    """Return what this machine's own hypervisor has taken of a pCPU, or all, since boot.

    It is a multiple of the tick that the kernel shows to user space.
    """
    wanted = 'cpu' if pcpu is None else f'cpu{pcpu}'
    for line in Path('/proc/stat').read_text().splitlines():
        name, *times = line.split()
        if name == wanted:
            return int(times[7]) * USER_TICK_NS
    raise ValueError(pcpu)


@contextlib.contextmanager
def above_hogs() -> Iterator[None]:
    """Put this thread above all others under SCHED_FIFO."""
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, priority)


@contextlib.contextmanager
def before_all() -> Iterator[None]:
    """Give this thread the shortest deadline of all, if the kernel admits it."""
    kernel = Scheduler()
    before = kernel.read(0)
    kernel.write(0, Attributes(SCHED_DEADLINE, 0, 0, 0, SAMPLE_NS, PAUSE_NS, PAUSE_NS))
    try:
        yield
    finally:
        kernel.write(0, before)
