# SPDX-License-Identifier: Apache-2.0
"""Random task sets for virtual machines, and what their analysis predicts."""

from collections.abc import Sequence
import dataclasses
from fractions import Fraction
import math
import random

from nova_rt import reservation
from nova_rt.model import generate
from nova_rt.model import pinned
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_

SHORTEST_US, LONGEST_US, STEP_US = 300_000, 1_000_000, 10_000
# Shorter jobs would be mostly the guest's own overhead.
LEAST_WCET_US = 8000
# Of each period: two context switches on the host, and what the caches lose.
OVERHEAD_US = 500
# Of each vCPU: the host's server of normal tasks needs some, too.
CAP = Fraction(17, 20)


@dataclasses.dataclass(frozen=True)
class Case:
    """A task set, and the least reservation with which the analysis says yes.

    :ivar tasks: in the guest's order of priority
    :ivar late_us: by which the host's tick may make runtimes late
    :ivar assignment: with deadlines earlier by that
    """

    index: int
    tasks: tuple[tasks_.Task, ...]
    late_us: int
    assignment: pinned.Assignment

    @property
    def analysed(self) -> reservation.Reservation:
        """The least reservation."""
        return self.assignment.resource.reservation()

    @property
    def by_utilisation(self) -> reservation.Reservation:
        """The reservation whose bandwidth is the utilisation of the fullest vCPU."""
        return self._with(math.ceil(max(map(self.utilisation, self.vcpus))
                                    * self.analysed.period_us))

    @property
    def third(self) -> reservation.Reservation:
        """The reservation of a third of that bandwidth."""
        return self._with(self.by_utilisation.runtime_us // 3)

    def _with(self, runtime_us: int) -> reservation.Reservation:
        return dataclasses.replace(self.analysed, runtime_us=runtime_us)

    @property
    def vcpus(self) -> range:
        """The vCPUs."""
        return range(self.analysed.vcpus)

    def on(self, vcpu: int) -> list[tasks_.Task]:
        """Return the tasks on a vCPU."""
        return [self.tasks[index] for index in self.assignment.on(vcpu)]

    def utilisation(self, vcpu: int) -> Fraction:
        """Return the utilisation of a vCPU."""
        return tasks_.utilisation(self.on(vcpu))

    @property
    def bounds_us(self) -> list[int]:
        """By task, the bound of its response time under the least reservation."""
        return [(response or 0) + self.late_us for response in self.assignment.response_us]

    def is_safe(self, held: reservation.Reservation) -> bool:
        """Return whether the analysis says that no task misses a deadline."""
        one = synthesis.usable(supply.Resource(held.runtime_us, held.period_us), OVERHEAD_US)
        return all(synthesis.FAILING['fp'](
            [_earlier(task, self.late_us) for task in self.on(vcpu)], one, None) is None
            for vcpu in self.vcpus)

    def certain_misses(self, held: reservation.Reservation, seconds: int,
                       speed: Fraction) -> int:
        """Return how many jobs certainly miss, as there is not enough time for them.

        :param speed: the part of its C that every job needs at least
        """
        missed = 0
        for vcpu in self.vcpus:
            tasks = self.on(vcpu)
            demand = sum(seconds * 1_000_000 // task.period_us * task.wcet_us
                         for task in tasks) * speed
            most = (Fraction(held.runtime_us, held.period_us) * seconds * 1_000_000
                    + held.runtime_us + self.late_us)
            if demand > most:
                missed += math.ceil((demand - most) / max(task.wcet_us for task in tasks))
        return missed


def cases(count: int, utilisations: tuple[float, float], vcpus: int, period_us: int,
          late_us: int, seed: int) -> list[Case]:
    """Return random task sets with utilisations in equal steps.

    :param utilisations: of the first set and of the last
    """
    least, most = utilisations
    source = random.Random(seed)  # noqa: S311
    found: list[Case] = []
    while len(found) < count:
        total = least + (most - least) * len(found) / max(1, count - 1)
        tasks = generate.task_set(vcpus * (3 + len(found) % 3), total, source,
                                  SHORTEST_US, LONGEST_US, STEP_US)
        if min(task.wcet_us for task in tasks) >= LEAST_WCET_US:
            found.append(case(len(found), tasks, vcpus, period_us, late_us))
    return found


def case(index: int, tasks: Sequence[tasks_.Task], vcpus: int, period_us: int,
         late_us: int) -> Case:
    """Return a task set with its least reservation.

    :raises checks.ModelError: if there is none
    """
    ordered = tuple(tasks[chosen] for chosen in tasks_.deadline_monotonic(tasks))
    return Case(index, ordered, late_us, pinned.least(
        [_earlier(task, late_us) for task in ordered], [period_us], vcpus, cap=CAP,
        overhead_us=OVERHEAD_US))


def _earlier(task: tasks_.Task, late_us: int) -> tasks_.Task:
    return dataclasses.replace(task, deadline_us=task.deadline_us - late_us)
