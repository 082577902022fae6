# SPDX-License-Identifier: Apache-2.0
"""The least bandwidth with which a task set is schedulable."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from fractions import Fraction
import math

from nova_rt import bandwidth
from nova_rt import wording
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

# Finds a task at which the test fails, beginning with the one that failed last.
Failing = Callable[[Sequence[tasks_.Task], supply.Resource, int | None], int | None]
FAILING: dict[str, Failing] = {
    'fp': fixed_priority.failing,
    'edf': edf.failing,
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
    return _Search(tasks, local, overhead_us).least_runtime(
        period_us, vcpus, math.floor(cap * period_us))


class _Search:
    """Searches reservations for a task set.

    :param local: the local scheduler
    :param overhead_us: of each period, what context switches take from each vCPU's Q
    """

    def __init__(self, tasks: Sequence[tasks_.Task], local: str, overhead_us: int) -> None:
        tasks_.check(tasks)
        checks.time_us('The overhead', overhead_us, least=0)
        self._tasks = tasks
        self._utilisation = tasks_.utilisation(tasks)
        self._test, self._failing = scheduler(local), FAILING[local]
        self._overhead_us = overhead_us
        # Where the last test failed, which is where the next one probably does.
        self._failed: int | None = None

    def least_runtime(self, period_us: int, vcpus: int, most_us: int) -> Synthesis | None:
        """Return the reservation of the least runtime, None if none suffices.

        :param most_us: the runtime that must not be exceeded, with overhead
        """
        high = most_us - self._overhead_us
        # Too short to be any use.
        low = max(0, math.ceil(self._utilisation * period_us / vcpus) - 1)
        if not self._suffices(high, period_us, vcpus):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._suffices(middle, period_us, vcpus):
                high = middle
            else:
                low = middle
        return Synthesis(
            supply.Resource(vcpus * (high + self._overhead_us), period_us, vcpus),
            self._test(self._tasks, supply.Resource(vcpus * high, period_us, vcpus)))

    def _suffices(self, runtime_us: int, period_us: int, vcpus: int) -> bool:
        if runtime_us < 1:
            return False
        failed = self._failing(self._tasks, supply.Resource(
            vcpus * runtime_us, period_us, vcpus), self._failed)
        if failed is None:
            return True
        self._failed = failed
        return False


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


def synthesise(tasks: Sequence[tasks_.Task], periods_us: Iterable[int],
               local: str = 'fp', max_vcpus: int = 64,
               cap: Fraction = Fraction(1), overhead_us: int = 0,
               track: Callable[[Sequence[int]], Iterable[int]] = iter) -> Synthesis:
    """Return the reservation of the least share over periods and m.

    The fewest vCPUs and then the longest period win a tie.

    :param track: returns the periods that it is given, and may show which is searched

    :raises checks.ModelError: if no reservation within the limits suffices
    """
    search = _Search(tasks, local, overhead_us)
    utilisation = tasks_.utilisation(tasks)
    least = max(1, math.ceil(utilisation / cap))
    most = min(max_vcpus, len(tasks))
    densest = max(Fraction(task.wcet_us, task.deadline_us) for task in tasks)
    best: Synthesis | None = None
    # Short periods and few vCPUs need the least, and leave most others no chance.
    for period in track(sorted(periods_us)):
        for vcpus in range(least, most + 1):
            share = cap if best is None else min(cap, best.resource.bandwidth / vcpus)
            # A job runs on one vCPU at a time, so m of the densest must fit.
            if densest > share:
                break
            runtime = math.floor(share * period)
            if best is not None and _rank(best) < (
                    Fraction(vcpus * runtime, period), vcpus, -period):
                runtime -= 1
            best = search.least_runtime(period, vcpus, runtime) or best
    if best is None:
        raise checks.ModelError(
            f'No reservation of up to {wording.counted(most, "vCPU")} and '
            f'{float(cap):g} of each makes these tasks schedulable, whose utilisation '
            f'is {float(utilisation):.4g}: try a shorter period or more vCPUs.')
    return best


def _rank(synthesis: Synthesis) -> tuple[Fraction, int, int]:
    """Return what is less for a better one."""
    resource = synthesis.resource
    return resource.bandwidth, resource.vcpus, -resource.period_us


def periods_for(tasks: Sequence[tasks_.Task]) -> list[int]:
    """Return round periods in µs up to the shortest deadline; at least one.

    A period below 1 ms only if the deadlines leave nothing else.
    """
    shortest = min(task.deadline_us for task in tasks)
    fitting = [period for period in periods.ROUND_US if period <= shortest]
    return fitting or [max(bandwidth.MIN_PERIOD_US, shortest // 2)]
