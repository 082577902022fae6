# SPDX-License-Identifier: Apache-2.0
"""Random task sets in their synthesised reservations: Figure 6 of KubeDeadline.

All in the exact simulator; those that one vCPU can hold also in containers'
groups on our kernel, beside a neighbour that takes all the rest, and under
the fair scheduler, with and without that neighbour. In a virtual machine of
several CPUs these take turns, so only one can judge deadlines here;
:mod:`experiments.severalsets` has those for several.
"""

from collections.abc import Sequence
import dataclasses
from fractions import Fraction

import numpy as np

from experiments import guest
from experiments import output
from nova_rt.model import campaign
from nova_rt.model import generate
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_

SETS = 150
ON_KERNEL = 30
RUNS = 100
SECONDS = 2
PERIODS_US = (10_000, 5000, 2000, 1000)
MODES = {'hcbs': 'hcbs, busy neighbour', 'fair': 'fair, alone',
         'fair-busy': 'fair, busy neighbour'}


@dataclasses.dataclass(frozen=True)
class Case:
    """A task set and its reservation on one vCPU.

    :ivar index: which of the 150 it is
    """

    index: int
    tasks: Sequence[tasks_.Task]
    resource: supply.Resource


@dataclasses.dataclass(frozen=True)
class Jobs:
    """What the jobs of a set did under one scheduler.

    :ivar normalised: response time over period, of those that ended
    :ivar missed: jobs that were late, or had not ended when they were due
    """

    normalised: np.ndarray
    missed: int

    @property
    def worst(self) -> float:
        """The largest response time over period."""
        return float(self.normalised.max())


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What was measured.

    :ivar by_mode: the jobs of each set on our kernel, by scheduler
    :ivar simulated: all sets in the exact simulator
    """

    by_mode: dict[str, list[Jobs]]
    simulated: campaign.Tally


def overhead_us(period_us: int) -> int:
    """Return the kernel's own overhead in each period.

    At an instruction per ns: about 10 µs for a switch, 1% for ticks.
    """
    return 20 + period_us // 100


def on_one_vcpu(count: int = ON_KERNEL) -> list[Case]:
    """Return the first task sets that fit on one vCPU."""
    cases: list[Case] = []
    for index, tasks in enumerate(generate.evaluation_sets(SETS)):
        if len(cases) == count:
            break
        for period in PERIODS_US:
            reservation = synthesis.least_runtime(
                tasks, period, 1, cap=Fraction(1),
                overhead_us=overhead_us(period))
            if reservation is not None:
                cases.append(Case(index, tasks, reservation.resource))
                break
    return cases


def simulated(sets: Sequence[Sequence[tasks_.Task]],
              runs: int) -> list[tuple[supply.Resource, campaign.Tally]]:
    """Return the reservation of each set and its simulation."""
    results = []
    for seed, tasks in enumerate(sets):
        resource = synthesis.synthesise(tasks, PERIODS_US[:1]).resource
        results.append((resource, campaign.worst_case(tasks, resource)
                        + campaign.random_cases(tasks, resource, runs, seed)))
    return results


def in_guest(cases: Sequence[Case], seconds: int) -> dict[str, np.ndarray]:
    """Return the jobs by case and mode: task, release, response in ns."""
    lines = []
    for case in cases:
        held = f'{case.resource.runtime_us}/{case.resource.period_us}'
        ordered = sorted(case.tasks, key=lambda task: task.period_us)
        listed = ' '.join(f'{t.wcet_us},{t.period_us}' for t in ordered)
        lines += [
            f'exp taskset /out/{case.index}-{mode} {mode.split("-")[0]} '
            f'{seconds} {held} {int(mode != "fair")} {listed}'
            for mode in MODES]
    result = guest.run('\n'.join(lines))
    return {name: read(data) for name, data in result.files.items()}


def read(data: bytes) -> np.ndarray:
    """Return jobs from their file: a row of task, release and response in ns for each."""
    return np.frombuffer(data, np.int64).reshape(-1, 3)


def judged(periods_us: Sequence[int], jobs: np.ndarray, seconds: int) -> Jobs:
    """Return how late the jobs of a set were.

    :param periods_us: by task, in the order of the jobs
    """
    periods = np.array(periods_us) * 1000
    period, response = periods[jobs[:, 0]], jobs[:, 2]
    ended = response >= 0
    # Jobs that never started are not in the list.
    expected = int((seconds * 10**9 // periods).sum())
    missed = int((~ended | (response > period)).sum()) + expected - len(jobs)
    return Jobs(response[ended] / period[ended], missed)


def kernel_row(case: Case, by_mode: dict[str, Jobs]) -> list[object]:
    """Return the CSV row of one set on the kernel."""
    row: list[object] = [
        case.index, len(case.tasks), float(tasks_.utilisation(case.tasks)),
        case.resource.runtime_us, case.resource.period_us]
    for jobs in by_mode.values():
        row += [jobs.normalised.size, jobs.missed, jobs.worst]
    return row


KERNEL_HEADER = [
    'set', 'tasks', 'utilisation', 'runtime_us', 'period_us',
    *(f'{mode}_{what}' for mode in MODES
      for what in ('jobs', 'missed', 'worst'))]
SIMULATED_HEADER = ['set', 'tasks', 'utilisation', 'budget_us', 'period_us',
                    'vcpus', 'runs', 'jobs', 'missed', 'worst']


def run(folder: output.Folder, quick: bool = False) -> Outcome:
    """Run everything, write the tables, and return the measurements."""
    clock = output.Clock()
    sets = list(generate.evaluation_sets(SETS))[::30 if quick else 1]
    tallies = simulated(sets, 5 if quick else RUNS)
    clock.say(f'{len(sets)} sets in the exact simulator')
    folder.table('tasksets-simulated', SIMULATED_HEADER, (
        [index, len(tasks), float(tasks_.utilisation(tasks)),
         resource.budget_us, resource.period_us, resource.vcpus, tally.runs,
         int(tally.histogram.sum()), tally.misses, tally.worst]
        for index, (tasks, (resource, tally)) in enumerate(
            zip(sets, tallies, strict=True))))
    cases = on_one_vcpu(2 if quick else ON_KERNEL)
    seconds = 1 if quick else SECONDS
    jobs = folder.samples(f'tasksets-{len(cases)}-{seconds}',
                          lambda: in_guest(cases, seconds))
    clock.say(f'{len(cases)} sets on our kernel, and under the fair scheduler')
    by_case = [{mode: judged(sorted(task.period_us for task in case.tasks),
                             jobs[f'{case.index}-{mode}'], seconds)
                for mode in MODES} for case in cases]
    folder.table('tasksets-kernel', KERNEL_HEADER, map(
        kernel_row, cases, by_case))
    total = sum((tally for _, tally in tallies[1:]), tallies[0][1])
    by_mode = {mode: [jobs_by_mode[mode] for jobs_by_mode in by_case] for mode in MODES}
    outcome = Outcome(by_mode, total)
    _say(outcome)
    return outcome


def _say(outcome: Outcome) -> None:
    total = outcome.simulated
    print(f'exact simulator: {total.histogram.sum()} jobs, {total.misses} '
          f'missed, worst {total.worst:.4f}')
    for mode, jobs in outcome.by_mode.items():
        print(f'{MODES[mode]}: {sum(j.normalised.size for j in jobs)} jobs, '
              f'{sum(j.missed for j in jobs)} missed in '
              f'{sum(j.missed > 0 for j in jobs)} of {len(jobs)} sets, '
              f'worst {max(j.worst for j in jobs):.4f}')
