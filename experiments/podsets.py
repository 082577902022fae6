# SPDX-License-Identifier: Apache-2.0
"""Task sets for the pods of ``kubernetes/tests``, with the claims that they need.

They are drawn as those of KubeDeadline's evaluation (its section 5.1): the first 30 that fit
on one pCPU of a node. ``python -m experiments.podsets`` prints them as JSON.
"""

from fractions import Fraction
import json

from experiments import tasksets
from nova_rt.model import generate
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_

# As many as it takes: utilisations are in equal steps.
DRAWN = 300
# What a node admits of a pCPU: 95% but for the fair server's 5%.
CAP = Fraction(9, 10)


def overhead_us(period_us: int) -> int:
    """Return what switches and interrupts take from each period, at an instruction per ns.

    It is twice what an experiment's machine needs, which has no kubelet and no network.
    """
    return 2 * tasksets.overhead_us(period_us)


def claimed(tasks: list[tasks_.Task]) -> supply.Resource | None:
    """Return the least reservation of one pCPU for a task set, None if there is none."""
    for period in tasksets.PERIODS_US:
        found = synthesis.least_runtime(tasks, period, 1, cap=CAP,
                                        overhead_us=overhead_us(period))
        if found is not None:
            return found.resource
    return None


def sets(count: int = tasksets.ON_KERNEL) -> list[dict[str, object]]:
    """Return the first task sets, the shortest period first in each, all times in µs."""
    chosen: list[dict[str, object]] = []
    for index, tasks in enumerate(generate.evaluation_sets(DRAWN)):
        if len(chosen) == count:
            break
        if (resource := claimed(tasks)) is not None:
            chosen.append({
                'index': index, 'runtime_us': resource.runtime_us,
                'period_us': resource.period_us,
                'tasks': [[task.wcet_us, task.period_us]
                          for task in sorted(tasks, key=lambda task: task.period_us)]})
    return chosen


def main() -> None:
    """Print the task sets, one on a line."""
    print('[\n' + ',\n'.join(json.dumps(each) for each in sets()) + '\n]')


if __name__ == '__main__':
    main()
