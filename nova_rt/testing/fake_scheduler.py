# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the kernel's scheduler, in memory.

It admits and refuses SCHED_DEADLINE as ``__checkparam_dl()``,
``__sched_setscheduler()`` and ``sched_dl_overflow()`` of kernel/sched do. Use it
wherever a :class:`nova_rt.virt.deadline.scheduler.Scheduler` is expected::

    kernel = fake_scheduler.FakeScheduler(count=4)
    threads = kernel.start(2)
    MachineHost(kernel, empty, {7: threads}.get).apply(7, holding)
    assert kernel.bandwidths() == [...]
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import errno
import pathlib

from nova_rt import bandwidth
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import scheduler
from nova_rt.virt.deadline.attributes import Attributes
from nova_rt.virt.deadline.attributes import SCHED_DEADLINE

_LEAST_RUNTIME_NS = 1024
_PERIODS_NS = (100_000, (1 << 22) * 1000)
# kernel.sched_rt_runtime_us and the fair server, as they are after boot.
_LIMIT = bandwidth.to_bandwidth(950_000, 1_000_000)
_FAIR_SERVER = bandwidth.to_bandwidth(50_000, 1_000_000)


class FakeScheduler(scheduler.Scheduler):
    """Threads that a kernel schedules.

    :param count: how many pCPUs there are
    :param admits: whether the kernel admits; not with kernel.sched_rt_runtime_us = -1
    :param domains: the pCPUs of each root domain; by default all are in one
    :ivar refuse: by thread, the errno with which the next write is refused
    :ivar states: by thread, the letter of its state; a thread sleeps otherwise
    :ivar budgets: by thread, the budgets that it has, one each time it is asked for
    :ivar writes: thread and attributes of every write, refused ones too
    :ivar offline: the pCPUs that are
    """

    def __init__(self, count: int = 4, admits: bool = False,
                 domains: Sequence[frozenset[int]] = (),
                 proc: pathlib.Path = pathlib.Path('/proc')) -> None:
        self.proc = proc
        self.count = count
        self.admits = admits
        self.capable = True
        self.refuse: dict[int, int] = {}
        self.states: dict[int, str] = {}
        self.budgets: dict[int, Iterator[scheduler.Budget]] = {}
        self.writes: list[tuple[int, Attributes]] = []
        self.offline: set[int] = set()
        self._domains = list(domains) or [frozenset(range(count))]
        self._attributes: dict[int, Attributes] = {}
        self._pcpus: dict[int, frozenset[int]] = {}
        self._names: dict[int, str] = {}
        self._next = 1000
        # By pCPU, what the kernel counts though no thread has it.
        self._kept = [0] * count

    # What a test does to it.

    def start(self, count: int, name: str = 'CPU {}/KVM') -> tuple[int, ...]:
        """Start threads, numbered in their name; return their ids."""
        threads = tuple(range(self._next, self._next + count))
        self._next += count
        for number, thread in enumerate(threads):
            self._attributes[thread] = Attributes()
            self._pcpus[thread] = frozenset(range(self.count))
            self._names[thread] = name.format(number)
        return threads

    def end(self, *threads: int) -> None:
        """End threads, which gives their bandwidth back."""
        for thread in threads:
            self._attributes.pop(thread, None)

    def bandwidths(self) -> list[int]:
        """Return the bandwidth of all threads by pCPU, in fixed point."""
        held = [0] * self.count
        for thread, present in self._attributes.items():
            if present.bandwidth:
                pcpu, = self._pcpus[thread]
                held[pcpu] += present.bandwidth
        return held

    # What nova-rt does to it: see the base class.

    def read(self, thread: int) -> Attributes:
        self._check_alive(thread)
        return self._attributes[thread]

    def write(self, thread: int, wanted: Attributes) -> None:
        self._check_alive(thread)
        self.writes.append((thread, wanted))
        number = self.refuse.pop(thread, None) or self._verdict(thread, wanted)
        if number:
            raise errors.refusal(thread, str(wanted), number, self.capable)
        if self.admits and wanted.policy != SCHED_DEADLINE:
            self._keep(thread)
        self._attributes[thread] = wanted

    def _keep(self, thread: int) -> None:
        """Go on counting what a thread gives up while it sleeps, as Linux 6.18 does."""
        given_up = self._attributes[thread].bandwidth
        if given_up and self.state(thread) == 'S':
            self._kept[min(self._pcpus[thread])] += given_up

    def affinity(self, thread: int) -> frozenset[int]:
        self._check_alive(thread)
        return self._pcpus[thread] - self.offline

    def set_affinity(self, thread: int, pcpus: frozenset[int]) -> None:
        self._check_alive(thread)
        if not pcpus:
            return
        if not pcpus <= frozenset(range(self.count)) or pcpus <= self.offline:
            raise errors.pin_refusal(thread, min(pcpus), errno.EINVAL, self.capable)
        if self.admits and self._attributes[thread].bandwidth:
            raise errors.pin_refusal(thread, min(pcpus), errno.EBUSY, self.capable)
        self._pcpus[thread] = pcpus

    def is_limited(self) -> bool:
        return self.admits

    def name(self, thread: int) -> str:
        self._check_alive(thread)
        return self._names[thread]

    def state(self, thread: int) -> str:
        self._check_alive(thread)
        return self.states.get(thread, 'S')

    def budget(self, thread: int) -> scheduler.Budget | None:
        self._check_alive(thread)
        told = self.budgets.get(thread)
        return next(told) if told else None

    @contextlib.contextmanager
    def sleeper(self) -> Iterator[int]:
        thread, = self.start(1)
        try:
            yield thread
        finally:
            self.end(thread)

    def _check_alive(self, thread: int) -> None:
        if thread not in self._attributes:
            raise errors.ended(thread)

    def _verdict(self, thread: int, wanted: Attributes) -> int:
        """Return the errno with which the kernel refuses, 0 if it does not."""
        if wanted.policy != SCHED_DEADLINE:
            return 0
        if not (_LEAST_RUNTIME_NS <= wanted.runtime_ns <= wanted.deadline_ns
                <= wanted.period_ns
                and _PERIODS_NS[0] <= wanted.period_ns <= _PERIODS_NS[1]):
            return errno.EINVAL
        if not self.capable:
            return errno.EPERM
        if not self.admits:
            return 0
        pcpus = self._pcpus[thread]
        domain = next(domain for domain in self._domains if pcpus & domain)
        if not domain <= pcpus:
            return errno.EPERM
        held = sum(self.bandwidths()[pcpu] + self._kept[pcpu] for pcpu in domain)
        others = held - self._attributes[thread].bandwidth
        room = (_LIMIT - _FAIR_SERVER) * len(domain)
        return errno.EBUSY if others + wanted.bandwidth > room else 0
