# SPDX-License-Identifier: Apache-2.0
"""Tasks that stay on one vCPU each, and the least runtime that they need.

Each vCPU is then a periodic resource of its own, (Q, P) on one vCPU, whose analysis
is exact on every kernel (:mod:`nova_rt.model.supply`). It is what a virtual machine
needs, where the guest's scheduler does not know which of its vCPUs are being served.

Which task goes where is bin packing; here by decreasing density to the vCPU of the least
utilisation, worst-fit, which keeps the largest Q small: all vCPUs get the same.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from fractions import Fraction
import heapq
import math

from nova_rt import wording
from nova_rt.model import checks
from nova_rt.model import supply
from nova_rt.model import synthesis
from nova_rt.model import tasks as tasks_
from nova_rt.model import verdict


@dataclasses.dataclass(frozen=True, slots=True)
class Assignment:
    """Tasks on vCPUs that suffice for them.

    :ivar resource: of all vCPUs together, overhead included
    :ivar vcpu: by task, its vCPU
    :ivar verdict: by vCPU, None for one without tasks; tasks are those of :meth:`on`
    """

    resource: supply.Resource
    vcpu: tuple[int, ...]
    verdict: tuple[verdict.Verdict | None, ...]

    def on(self, vcpu: int) -> list[int]:
        """Return the indices of the tasks on a vCPU."""
        return [index for index, chosen in enumerate(self.vcpu) if chosen == vcpu]

    @property
    def slack_us(self) -> int:
        """The least slack of all vCPUs, in µs."""
        return min(answer.slack_us or 0 for answer in self.verdict if answer is not None)

    @property
    def response_us(self) -> list[int | None]:
        """By task, a bound of its response time in µs; None under EDF."""
        bounds: list[int | None] = [None] * len(self.vcpu)
        for vcpu, answer in enumerate(self.verdict):
            if answer is not None:
                for index, bound in zip(self.on(vcpu), answer.response_us, strict=True):
                    bounds[index] = bound
        return bounds


def assign(tasks: Sequence[tasks_.Task], resource: supply.Resource, local: str = 'fp',
           overhead_us: int = 0) -> Assignment:
    """Put tasks on the vCPUs of a given resource.

    :param local: the scheduler on each vCPU: fp or edf
    :param overhead_us: of each period, what context switches take from each vCPU's Q
    :raises checks.ModelError: if a task fits on no vCPU beside those before it; that is no
        proof that another assignment does not exist
    """
    tasks_.check(tasks)
    one = synthesis.usable(
        supply.Resource(resource.budget_us // resource.vcpus, resource.period_us), overhead_us)
    failing = synthesis.FAILING[local]
    bins = [_Bin() for _ in range(resource.vcpus)]
    for index in _densest_first(tasks):
        for emptiest in sorted(bins):
            together = [tasks[member] for member in (*emptiest.members, index)]
            if failing(together, one, None) is None:
                emptiest.add(index, tasks[index])
                break
        else:
            raise checks.ModelError(
                f'Task {tasks[index]} fits on none of '
                f'{wording.counted(resource.vcpus, "vCPU")} beside the tasks of higher '
                'density: raise the runtime or the number of vCPUs, or shorten the period.')
    return _assignment(tasks, resource, one, bins, local)


def least(tasks: Sequence[tasks_.Task], periods_us: Iterable[int], vcpus: int | None = None,
          local: str = 'fp', cap: Fraction = Fraction(1), overhead_us: int = 0,
          track: Callable[[Sequence[int]], Iterable[int]] = iter) -> Assignment:
    """Return the assignment of the least bandwidth over periods and numbers of vCPUs.

    The fewest vCPUs and then the longest period win a tie.

    :param vcpus: their number; None for any
    :param cap: largest bandwidth of a vCPU
    :param overhead_us: of each period, what context switches take from each vCPU's Q
    :param track: returns the periods that it is given, and may show which is searched
    :raises checks.ModelError: if none within the limits suffices
    """
    tasks_.check(tasks)
    fewest = max(1, math.ceil(tasks_.utilisation(tasks) / cap))
    counts = range(fewest, max(fewest, min(len(tasks), 64)) + 1) if vcpus is None else [vcpus]
    packed = {count: _pack(tasks, count) for count in counts}
    best: supply.Resource | None = None
    for period in track(sorted(periods_us)):
        for count in counts:
            most = cap if best is None else min(cap, best.bandwidth / count)
            runtime = _least_runtime(tasks, packed[count], period, local, most, overhead_us)
            found = runtime and supply.Resource(runtime * count, period, count)
            if found and (best is None or _rank(found) < _rank(best)):
                best = found
    if best is None:
        raise checks.ModelError(
            f'No reservation of {wording.counted(max(counts), "vCPU")} and {float(cap):g} of '
            'each suffices for these tasks, each pinned to one: try more vCPUs or a shorter '
            'period.')
    one = synthesis.usable(supply.Resource(best.runtime_us, best.period_us), overhead_us)
    return _assignment(tasks, best, one, packed[best.vcpus], local)


@dataclasses.dataclass(order=True)
class _Bin:
    """A vCPU; the one of the least utilisation is the least."""

    utilisation: float = 0.0
    members: list[int] = dataclasses.field(default_factory=list, compare=False)

    def add(self, index: int, task: tasks_.Task) -> None:
        """Put a task on it."""
        self.members.append(index)
        self.utilisation += task.wcet_us / task.period_us


def _pack(tasks: Sequence[tasks_.Task], count: int) -> list[_Bin]:
    bins = [_Bin() for _ in range(count)]
    for index in _densest_first(tasks):
        emptiest = heapq.heappop(bins)
        emptiest.add(index, tasks[index])
        heapq.heappush(bins, emptiest)
    return sorted(bins, reverse=True)


def _least_runtime(tasks: Sequence[tasks_.Task], bins: Sequence[_Bin], period: int,
                   local: str, cap: Fraction, overhead_us: int) -> int | None:
    """Return the least Q with which every vCPU suffices, None if the cap does not.

    :param bins: the fullest first, which most probably needs the most
    """
    runtime = 1
    for full in bins:
        if not full.members:
            continue
        needed = synthesis.least_runtime(
            [tasks[member] for member in sorted(full.members)], period, 1, local, cap,
            overhead_us)
        if needed is None:
            return None
        runtime = max(runtime, needed.resource.runtime_us)
    return runtime


def _assignment(tasks: Sequence[tasks_.Task], resource: supply.Resource,
                one: supply.Resource, bins: Sequence[_Bin], local: str) -> Assignment:
    vcpu = [0] * len(tasks)
    verdicts: list[verdict.Verdict | None] = []
    for number, full in enumerate(bins):
        members = sorted(full.members)
        for member in members:
            vcpu[member] = number
        verdicts.append(synthesis.scheduler(local)(
            [tasks[member] for member in members], one) if members else None)
    return Assignment(resource, tuple(vcpu), tuple(verdicts))


def _densest_first(tasks: Sequence[tasks_.Task]) -> list[int]:
    return sorted(range(len(tasks)), key=lambda index: -Fraction(
        tasks[index].wcet_us, tasks[index].deadline_us))


def _rank(resource: supply.Resource) -> tuple[Fraction, int, int]:
    """Return what is less for a better one."""
    return resource.bandwidth, resource.vcpus, -resource.period_us
