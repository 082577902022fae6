# SPDX-License-Identifier: Apache-2.0
"""Task sets for several CPUs, with the reservations that they need.

They are drawn as those of KubeDeadline's evaluation (its section 5.1), up to a utilisation
of 2: of those that need two CPUs or more, and at most as many as a virtual machine has, some
in equal steps. ``python -m experiments.severalsets CPUS`` prints them as cases of
``kernel/test``, ``python -m experiments.severalsets pods`` some as JSON for the pods of
``kubernetes/tests``.
"""

from collections.abc import Sequence
import dataclasses
import json
import sys

from experiments import podsets
from experiments import tasksets
from nova_rt.model import checks
from nova_rt.model import generate
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_

# For each number of CPUs: how many sets.
COUNTS = {2: 12, 4: 30}
# Every so many of those for four CPUs are for pods.
EVERY = 4
# A job whose length is the kernel's account cannot tell a turn from what it executes: so
# short ones keep the error small.
TURN_US = 20
# Two rounds in each second.
SECONDS = 4
_HEADER = """\
# Task sets on {cpus} CPUs, as KubeDeadline draws them: made by experiments/severalsets.py.
# What is called "late" has a bandwidth of no more than the utilisation of its tasks. The
# second number in a name is the utilisation, the last the seed.
"""


@dataclasses.dataclass(frozen=True)
class Case:
    """A task set and its reservation.

    :ivar index: which of the drawn ones it is
    :ivar tasks: the shortest period first
    """

    index: int
    tasks: Sequence[tasks_.Task]
    found: synthesis.Synthesis

    @property
    def utilisation(self) -> float:
        """What the tasks need, in CPUs."""
        return float(tasks_.utilisation(self.tasks))

    def lines(self) -> list[str]:
        """Return the case, as ``kernel/tests/sets.c`` reads it, with two seeds.

        One is of those that leave 3 when divided by 6: then the servers of all CPUs begin
        their periods at once, and something always uses up what the tasks leave.
        """
        return [self._line('sets', self.found.resource.runtime_us, seed)
                for seed in (self.index, 6 * self.index + 3)]

    def too_small(self) -> str:
        """Return a case in which jobs must be late."""
        resource = self.found.resource
        return self._line('late', int(
            self.utilisation * resource.period_us / resource.vcpus) + 1, self.index)

    def _line(self, program: str, runtime_us: int, seed: int) -> str:
        resource = self.found.resource
        listed = ' '.join(
            f'{task.wcet_us},{task.period_us},{bound}' for task, bound in zip(
                self.tasks, self.found.verdict.response_us, strict=True))
        return (f'{program}-{self.index}-{self.utilisation:.3f}-{seed} {program} {SECONDS} '
                f'{TURN_US} cpu {seed} {runtime_us}/{resource.period_us} {resource.vcpus} {listed}')


def claimed(tasks: Sequence[tasks_.Task], cpus: int) -> synthesis.Synthesis | None:
    """Return the least reservation of up to so many CPUs, None if there is none."""
    for period in tasksets.PERIODS_US:
        try:
            return synthesis.synthesise(tasks, [period], max_vcpus=cpus, cap=podsets.CAP,
                                        overhead_us=podsets.overhead_us(period))
        except checks.ModelError:
            continue
    return None


def cases(cpus: int) -> list[Case]:
    """Return task sets for a virtual machine of so many CPUs."""
    fitting = []
    for index, drawn in enumerate(generate.evaluation_sets()):
        tasks = sorted(drawn, key=lambda task: task.period_us)
        found = claimed(tasks, cpus)
        if found is not None and found.resource.vcpus > 1:
            fitting.append(Case(index, tasks, found))
    # The last one is among them.
    count = COUNTS[cpus]
    return [fitting[(each * (len(fitting) - 1)) // (count - 1)] for each in range(count)]


def text(cpus: int) -> str:
    """Return the file of cases for a virtual machine of so many CPUs."""
    chosen = cases(cpus)
    return _HEADER.format(cpus=cpus) + ''.join(
        f'{line}\n' for line in [*(line for case in chosen for line in case.lines()),
                                 chosen[len(chosen) // 2].too_small()])


def of_pods() -> list[dict[str, object]]:
    """Return task sets as ``kubernetes/tests`` reads them, all times in µs."""
    return [{'index': case.index, 'runtime_us': case.found.resource.runtime_us,
             'period_us': case.found.resource.period_us, 'vcpus': case.found.resource.vcpus,
             'tasks': [[task.wcet_us, task.period_us] for task in case.tasks]}
            for case in cases(4)[1::EVERY]]


def main() -> None:
    """Print what is asked for."""
    if sys.argv[1] == 'pods':
        print('[\n' + ',\n'.join(json.dumps(each) for each in of_pods()) + '\n]')
    else:
        print(text(int(sys.argv[1])), end='')


if __name__ == '__main__':
    main()
