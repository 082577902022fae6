# SPDX-License-Identifier: Apache-2.0
"""Sporadic tasks, as `hcbs-linux-containers` section 2.2 defines them."""

from collections.abc import Sequence
import dataclasses
from fractions import Fraction

from nova_rt.model import checks

MAX_TASKS = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """A sporadic task: each job needs the CPU for a time.

    :ivar wcet_us: C, longest execution time of a job in µs
    :ivar period_us: T, least time between two arrivals in µs
    :ivar deadline_us: D, in µs from the arrival; at most the period, and
        equal to it if 0 is given
    :ivar name: shown to people, if there is one
    :raises checks.ModelError: if these are invalid
    """

    wcet_us: int
    period_us: int
    deadline_us: int = 0
    name: str = ''

    def __post_init__(self) -> None:
        known = f' of {self.name}' if self.name else ''
        wcet = checks.time_us(f'The execution time{known}', self.wcet_us)
        period = checks.time_us(f'The period{known}', self.period_us)
        deadline = checks.time_us(
            f'The deadline{known}', self.deadline_us or period)
        if deadline > period:
            raise checks.ModelError(
                f'The deadline{known}, {deadline} µs, is later than its '
                f'period of {period} µs: the analysis needs D <= T.')
        if wcet > deadline:
            raise checks.ModelError(
                f'The execution time{known}, {wcet} µs, is longer than its '
                f'deadline of {deadline} µs: no CPU is fast enough.')
        for field, value in (('wcet_us', wcet), ('period_us', period),
                             ('deadline_us', deadline)):
            object.__setattr__(self, field, value)

    @property
    def utilisation(self) -> Fraction:
        """C / T, exactly."""
        return Fraction(self.wcet_us, self.period_us)

    def __str__(self) -> str:
        times = f'({self.wcet_us / 1000:g}, {self.period_us / 1000:g}) ms'
        if self.deadline_us != self.period_us:
            times = times.replace(')', f', D {self.deadline_us / 1000:g})')
        return f'{self.name} {times}' if self.name else times


def check(tasks: Sequence[Task]) -> None:
    """Raise ModelError unless there are 1 to 1000 tasks."""
    if not 1 <= len(tasks) <= MAX_TASKS:
        raise checks.ModelError(
            f'There are {len(tasks)} tasks: give 1 to {MAX_TASKS}.')


def utilisation(tasks: Sequence[Task]) -> Fraction:
    """Return the sum of C / T, exactly: a lower bound of any bandwidth."""
    return sum((task.utilisation for task in tasks), Fraction(0))


def deadline_monotonic(tasks: Sequence[Task]) -> list[int]:
    """Return the indices of the tasks, highest priority first.

    The shorter deadline comes first; the lower index at a tie.
    """
    return sorted(range(len(tasks)), key=lambda i: tasks[i].deadline_us)
