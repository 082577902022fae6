# SPDX-License-Identifier: Apache-2.0
"""Task sets of virtual machines, run beside hogs and judged."""

import base64
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
from fractions import Fraction
from pathlib import Path
import subprocess
import time

import numpy as np

from experiments import guest
from experiments import machine
from experiments import supplied
from experiments import tasksets
from experiments.machine_cases import Case
from nova_rt import reservation
from nova_rt.model import supply as model
from stack import supply
from stack.image import build

TRIES = 3
# How long the guest waits until the first job, see pinned.c, and what may be late in that.
LEAD_S, LATE_S = 2.0, 0.2
HOGS = (('fifo', '50'), ('other', '0'))
# Of a job that measures the speed.
_BLOCKS = 10_000_000
_JOBS = '/out/jobs'
_SPEED_S, _SPEED_TRIES = 4, 5
# What the host may take in any second meanwhile.
_SPEED_SHORT_US = 20_000


@dataclasses.dataclass(frozen=True)
class Speed:
    """How fast a guest works that has the whole of its pCPUs.

    :ivar wake_us: the longest response of a job without work
    :ivar least_us: the shortest time of a thousand blocks of work
    :ivar longest_us: the longest
    """

    wake_us: float
    least_us: float
    longest_us: float

    @property
    def ratio(self) -> Fraction:
        """The part of its execution time that a job needs at least."""
        return Fraction(self.least_us / self.longest_us).limit_denominator(1000)

    def blocks(self, wcet_us: int) -> int:
        """Return how much work takes this long at worst."""
        return int((wcet_us - self.wake_us) / self.longest_us * 1000)


def speed_of(idle_us: np.ndarray, block_us: np.ndarray) -> Speed:
    """Return the speed with a margin of 10%.

    A pCPU that is one of two threads of a core is up to twice as slow while the other one is
    busy. Some seconds may not show that.

    :param idle_us: responses of jobs without work
    :param block_us: those of jobs with work, by block
    """
    least = 1000 * float(block_us.min())
    longest = max(1000 * float(block_us.max()), 2 * least)
    return Speed(1.1 * float(idle_us.max()), least, 1.1 * longest)


@dataclasses.dataclass(frozen=True)
class Load:
    """A task set in a guest, with a reservation.

    :ivar held: what level of reservation this is, for people
    """

    machine: machine.Machine
    speed: Speed
    case: Case
    held: str
    reservation: reservation.Reservation

    @property
    def pcpus(self) -> tuple[int, ...]:
        """The pCPUs of its vCPUs."""
        return tuple(self.case.vcpus)

    def command(self, seconds: int) -> str:
        """Return what runs the set in the guest."""
        return _command(seconds, [
            f'{vcpu},{self.speed.blocks(task.wcet_us)},{task.period_us}'
            for task, vcpu in zip(self.case.tasks, self.case.assignment.vcpu, strict=True)])


def _command(seconds: int, tasks: Sequence[str]) -> str:
    return f'exp pinned {_JOBS} {seconds * 1000} 1 {" ".join(tasks)}'


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a load did, once.

    :ivar beside: the other guests on its pCPUs, beside hogs
    :ivar short_us: by which its worst vCPU had less than the analysis takes for granted
    :ivar void: whether that is more than the kernel's accounting may be wrong
    :ivar stolen_us: what this machine's own hypervisor took of its pCPUs
    :ivar to_bound: the largest response time over what bounds it with the least reservation
    """

    load: Load
    seconds: int
    beside: int
    short_us: int
    void: bool
    stolen_us: int
    jobs: tasksets.Jobs
    to_bound: float

    @property
    def predicted(self) -> str:
        """What the analysis says of the set with this reservation."""
        if self.load.case.is_safe(self.load.reservation):
            return 'none'
        return 'some' if self.certain else 'not excluded'

    @property
    def certain(self) -> int:
        """How many misses are certain."""
        return self.load.case.certain_misses(
            self.load.reservation, self.seconds, self.load.speed.ratio)

    @property
    def released(self) -> int:
        """How many jobs had their deadline within the run."""
        return sum(self.seconds * 1_000_000 // task.period_us for task in self.load.case.tasks)

    def row(self) -> list[object]:
        """Return the row of the table."""
        case, held = self.load.case, self.load.reservation
        return [
            len(case.vcpus), self.beside, case.index, len(case.tasks),
            float(sum(map(case.utilisation, case.vcpus))), self.load.held,
            held.runtime_us, held.period_us, case.late_us, int(self.void), self.short_us,
            self.stolen_us, self.predicted, self.certain, self.released,
            self.jobs.missed, self.jobs.worst,
            self.to_bound if self.load.held == 'analysed' else '']


HEADER = ['vcpus', 'other_guests', 'set', 'tasks', 'utilisation', 'reservation', 'runtime_us',
          'period_us', 'late_us', 'void', 'short_us', 'stolen_us', 'misses_predicted',
          'misses_certain', 'jobs', 'missed', 'worst', 'worst_to_bound']


class Bench:
    """Runs loads on this machine.

    :param work: a folder for programs
    :param seconds: of each run
    :param tick_us: by which the kernel's accounting of a thread may be late
    """

    def __init__(self, work: Path, seconds: int, tick_us: int) -> None:
        self._seconds, self._tick_us = seconds, tick_us
        self._hog = work / 'hog'
        build.compile_program('hog', self._hog, build.run_command)

    def speed(self, measured: machine.Machine) -> Speed:
        """Measure how fast a guest works.

        :raises guest.GuestError: if it never had its pCPUs for itself
        """
        measured.reserve_whole()
        for _ in range(_SPEED_TRIES):
            responses = []
            short_us = 0
            for blocks, period_us in ((1, 10_000), (_BLOCKS, 100_000)):
                with self._hogs(()):
                    got, data = self._watched([(
                        measured, measured.vcpus,
                        _command(_SPEED_S, [f'0,{blocks},{period_us}']))], _SPEED_S)
                short_us = max(short_us, self._short_us(
                    {0: got[measured.name][0]}, machine.WHOLE, 0))
                responses.append(tasksets.read(data[0])[:, 2] / 1000)
            idle, busy = responses
            found = speed_of(idle, busy / _BLOCKS)
            print(f'{measured.name}: {found}, {short_us} µs short', flush=True)
            if short_us <= _SPEED_SHORT_US:
                return found
        raise guest.GuestError(f'This machine was too busy to measure {measured.name}.')

    def attempts(self, loads: Sequence[Load]) -> Iterator[list[Outcome]]:
        """Run loads beside each other until none is void, but not for ever."""
        for _ in range(TRIES):
            outcomes = self._attempt(loads)
            yield outcomes
            if not any(outcome.void for outcome in outcomes):
                break

    def _attempt(self, loads: Sequence[Load]) -> list[Outcome]:
        pcpus = {pcpu for load in loads for pcpu in load.pcpus}
        for load in loads:
            load.machine.reserve(load.reservation, load.pcpus)
        stolen = sum(map(supply.stolen_ns, pcpus))
        with self._hogs(pcpus):
            got, data = self._watched([
                (load.machine, load.pcpus, load.command(self._seconds)) for load in loads],
                self._seconds)
        stolen = (sum(map(supply.stolen_ns, pcpus)) - stolen) // 1000
        return [self._judged(load, len(loads) - 1, got[load.machine.name], stolen, jobs)
                for load, jobs in zip(loads, map(tasksets.read, data), strict=True)]

    def _watched(self, runs: Sequence[tuple[machine.Machine, Sequence[int], str]],
                 seconds: int) -> tuple[dict[str, dict[int, supply.Supply]], list[bytes]]:
        """Run commands in guests; return what these had meanwhile, and files of jobs."""
        for each, _, command in runs:
            each.send(command)
        time.sleep(LEAD_S - LATE_S)
        got = supply.watch([each.scheduled(pcpus) for each, pcpus, _ in runs], seconds)
        for each, _, _ in runs:
            each.receive()
        return got, [base64.b64decode(each.run(f'base64 {_JOBS}')) for each, _, _ in runs]

    def _short_us(self, got: dict[int, supply.Supply], held: reservation.Reservation,
                  late_us: int) -> int:
        one = model.Resource(held.runtime_us, held.period_us)
        return max(supplied.shortfall_us(each, one, late_us) for each in got.values())

    def _judged(self, load: Load, beside: int, got: dict[int, supply.Supply], stolen_us: int,
                jobs: np.ndarray) -> Outcome:
        case = load.case
        short_us = self._short_us(got, load.reservation, case.late_us)
        bounds = np.array(case.bounds_us) * 1000
        ended = jobs[jobs[:, 2] >= 0]
        return Outcome(
            load, self._seconds, beside, short_us, short_us > self._tick_us, stolen_us,
            tasksets.judged([task.period_us for task in case.tasks], jobs, self._seconds),
            float((ended[:, 2] / bounds[ended[:, 0]]).max()))

    @contextlib.contextmanager
    def _hogs(self, pcpus: Sequence[int] | set[int]) -> Iterator[None]:
        """Burn CPU on these pCPUs, above all normal tasks; this thread goes on."""
        with supply.above_hogs(), contextlib.ExitStack() as stack:
            for policy, priority in HOGS:
                for pcpu in pcpus:
                    process = stack.enter_context(subprocess.Popen(
                        ['taskset', '--cpu-list', str(pcpu), self._hog, policy, priority,
                         str(self._seconds + 60)], stdout=subprocess.DEVNULL))
                    stack.callback(process.kill)
            yield
