# SPDX-License-Identifier: Apache-2.0
"""The least bandwidth with which a task set is schedulable."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from fractions import Fraction
import math

from nova_rt import bandwidth
from nova_rt.model import checks
from nova_rt.model import edf
from nova_rt.model import fixed_priority
from nova_rt.model import periods
from nova_rt.model import supply
from nova_rt.model import tasks as tasks_
from nova_rt.model import verdict

Test = Callable[[Sequence[tasks_.Task], supply.Resource], verdict.Verdict]

# Local schedulers by the names that people give them: deadline monotonic
# fixed priorities, and EDF.
SCHEDULERS: dict[str, Test] = {
    'fp': fixed_priority.analyse,
    'edf': edf.analyse,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Synthesis:
    """A reservation found for a task set.

    :ivar resource: Θ = m Q every Π on m vCPUs, overhead included
    :ivar verdict: of the test, without the overhead
    """

    resource: supply.Resource
    verdict: verdict.Verdict


def scheduler(name: str) -> Test:
    """Return the schedulability test of a local scheduler.

    :raises checks.ModelError: if there is none of that name
    """
    if name not in SCHEDULERS:
        raise checks.ModelError(f'There is no local scheduler {name!r}: give '
                                f'one of {", ".join(SCHEDULERS)}.')
    return SCHEDULERS[name]


def least_runtime(tasks: Sequence[tasks_.Task], period_us: int, vcpus: int,
                  local: str = 'fp', cap: Fraction = Fraction(1),
                  overhead_us: int = 0) -> Synthesis | None:
    """Return the reservation of the least runtime Q for a period and m.

    Supply grows with Q in every window, so bisection finds the least.

    :param cap: largest bandwidth of a vCPU
    :param overhead_us: of each period, what context switches take from Q
    :returns: None if even the cap is not enough
    """
    test = scheduler(local)
    tasks_.check(tasks)
    checks.time_us('The overhead', overhead_us, least=0)
    # The runtime that must not be exceeded, and one too short to be any use.
    most = math.floor(cap * period_us) - overhead_us
    low = max(0, math.ceil(tasks_.utilisation(tasks) * period_us / vcpus) - 1)
    best = _tested(test, tasks, most, period_us, vcpus)
    if best is None:
        return None
    high = most
    while high - low > 1:
        middle = (low + high) // 2
        found = _tested(test, tasks, middle, period_us, vcpus)
        if found is None:
            low = middle
        else:
            high, best = middle, found
    return Synthesis(supply.Resource(
        vcpus * (high + overhead_us), period_us, vcpus), best)


def usable(resource: supply.Resource, overhead_us: int) -> supply.Resource:
    """Return what context switches leave of a resource.

    :param overhead_us: of each period, what they take from each vCPU's Q
    :raises checks.ModelError: if it is all
    """
    checks.time_us('The overhead', overhead_us, least=0)
    left = resource.budget_us - resource.vcpus * overhead_us
    if left <= 0:
        raise checks.ModelError(
            f'An overhead of {overhead_us} µs leaves nothing of a runtime of '
            f'{resource.runtime_us} µs: raise the runtime.')
    return dataclasses.replace(resource, budget_us=left)


def _tested(test: Test, tasks: Sequence[tasks_.Task], runtime_us: int,
            period_us: int, vcpus: int) -> verdict.Verdict | None:
    if runtime_us < 1:
        return None
    found = test(tasks, supply.Resource(
        vcpus * runtime_us, period_us, vcpus))
    return found if found.schedulable else None


def synthesise(tasks: Sequence[tasks_.Task], periods_us: Iterable[int],
               local: str = 'fp', max_vcpus: int = 64,
               cap: Fraction = Fraction(1),
               overhead_us: int = 0) -> Synthesis:
    """Return the reservation of the least share over periods and m.

    The fewest vCPUs and then the longest period win a tie.

    :raises checks.ModelError: if no reservation within the limits suffices
    """
    tasks_.check(tasks)
    utilisation = tasks_.utilisation(tasks)
    least = max(1, math.ceil(utilisation / cap))
    most = min(max_vcpus, len(tasks))
    found = [
        one for period in periods_us for vcpus in range(least, most + 1)
        if (one := least_runtime(tasks, period, vcpus, local, cap,
                                 overhead_us)) is not None]
    if not found:
        raise checks.ModelError(
            f'No reservation of up to {most} vCPUs and {float(cap):g} of '
            'each makes these tasks schedulable, whose utilisation is '
            f'{float(utilisation):.4g}: try a shorter period or more vCPUs.')
    return min(found, key=lambda one: (
        one.resource.bandwidth, one.resource.vcpus, -one.resource.period_us))


def periods_for(tasks: Sequence[tasks_.Task]) -> list[int]:
    """Return round periods in µs up to the shortest deadline; at least one.

    A period below 1 ms only if the deadlines leave nothing else.
    """
    shortest = min(task.deadline_us for task in tasks)
    fitting = [period for period in periods.ROUND_US if period <= shortest]
    return fitting or [max(bandwidth.MIN_PERIOD_US, shortest // 2)]
