# SPDX-License-Identifier: Apache-2.0
"""How long a missed deadline goes without its remedy: RT-Kube's V-D and V-E.

On one CPU in virtual time, a critical container now and then needs more than its reservation.
What is free is lent to it, or what a less critical elastic one gives up. Evictions need a whole
Nova, and are measured on a node whose clock is this machine's.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import statistics

import numpy.typing as npt

from experiments import node_runs
from experiments import output

# Of Tables VI and VII, in ms.
PAPER_MEAN, PAPER_WORST = 92.03, 408.29
GOAL_MS = 5.0
PERIOD_US = 8_333
POLICY = {'after': 1, 'window_s': 1.0, 'most': 0.95, 'for_s': 0.15, 'shrinks': True}
SECONDS = 15.0


@dataclasses.dataclass(frozen=True)
class Case:
    """What is measured.

    :ivar runtime_us: the critical one's
    :ivar needs_us: how long its jobs are while it needs more
    :ivar other: runtime, least runtime and job of the other one, every 20 ms; None without; a
        least runtime of 0 for one that is not elastic, a job of 0 for one that never sleeps
    :ivar reactor_us: the reactor's own reservation; None for a normal task
    """

    what: str
    runtime_us: int
    needs_us: Sequence[int]
    other: tuple[int, int, int] | None = None
    reactor_us: tuple[int, int] | None = None
    cap: float | None = None

    def servers(self) -> list[node_runs.Server]:
        """Return the containers, the critical one last."""
        lengths = [word for number, need_us in enumerate(self.needs_us)
                   for word in (f'1000*{37 + number}', f'{need_us}*15')]
        critical = node_runs.Server(self.runtime_us, PERIOD_US, 'C', (
            'driver', PERIOD_US, PERIOD_US, 1, *lengths))
        if self.other is None:
            return [critical]
        runtime_us, least_us, job_us = self.other
        activity = ('elastic', 20_000, 20_000, 2, f'{job_us}*100') if job_us else ()
        return [node_runs.Server(runtime_us, 20_000, 'B', activity, least_us or None), critical]

    @property
    def shrinks(self) -> bool:
        """Whether the critical one is helped by a shrink."""
        return self.other is not None and self.other[1] > 0

    def policy(self) -> dict[str, object]:
        """Return how the node reacts."""
        return POLICY | ({'reactor_us': self.reactor_us} if self.reactor_us else {})


CASES = {
    'loan': Case('loan', 3_000, (4_000, 3_600, 5_300, 4_700, 7_000)),
    'loan-reserved': Case('loan, reactor with a reservation', 1_600,
                          (2_000, 1_900, 2_600, 2_300), (2_000, 0, 0), (4_000, 8_000), 0.4),
    # Both together hold all that the kernel admits beside its fair server, 90%.
    'shrink': Case('shrink, then loan', 3_000, (4_000, 3_600, 5_300, 4_700),
                   (10_798, 4_000, 3_500)),
    'shrink-busy': Case('shrink beside one that never sleeps', 3_000,
                        (4_000, 3_600, 5_300, 4_700), (10_798, 4_000, 0)),
    'shrink-reserved': Case('shrink, reactor with a reservation', 1_600,
                            (2_000, 1_900, 2_600, 2_300), (4_158, 1_000, 0),
                            (4_000, 8_000), 0.4),
}


@dataclasses.dataclass(frozen=True)
class Recovery:
    """From a missed deadline on, in ms.

    :ivar report: until the application has told
    :ivar shrink: until somebody has less in the kernel; NaN if nobody
    :ivar remedy: until the critical one has more
    :ivar in_time: until the end of the first job thereafter that meets its deadline
    """

    report: float
    shrink: float
    remedy: float
    in_time: float


def recoveries(ran: node_runs.Ran, own_us: int, shrinks: bool) -> list[Recovery]:
    """Return each time that the critical container was helped, up to its larger runtime.

    Only what was lent anew counts: from the first deadline missed since the last loan was
    given back, or since the beginning.

    :param own_us: its runtime by its reservation
    :param shrinks: whether somebody is shrunk for it, without which it is not helped
    """
    found, since, shrunk, had = [], 0.0, float('nan'), 0.0
    for ended, is_own, runtime_us in ran.writes:
        if not is_own:
            # Who has all of it again is not shrunk.
            shrunk, had = ended if runtime_us < had else float('nan'), runtime_us
        elif runtime_us <= own_us:
            since = ended
        elif since < float('inf') and (shrunk == shrunk or not shrinks):
            recovery = _recovery(ran, since, shrunk, ended)
            if recovery is not None:
                found.append(recovery)
                since = float('inf')
    return found


def _recovery(ran: node_runs.Ran, since: float, shrunk: float,
              remedied: float) -> Recovery | None:
    missed = next((each for each in ran.late if since < each < remedied), None)
    if missed is None:
        return None
    reported = next(told for told, _ in ran.heard if told >= missed)
    in_time = next((end for release, end in zip(ran.releases, ran.ends, strict=True)
                    if release + ran.deadline_ms > remedied
                    and end - release <= ran.deadline_ms), float('nan'))
    return Recovery(reported - missed, shrunk - missed, remedied - missed, in_time - missed)


HEADER = ['case', 'what', 'samples', 'report_mean_ms', 'report_worst_ms', 'shrink_mean_ms',
          'shrink_worst_ms', 'remedy_mean_ms', 'remedy_worst_ms', 'remedy_within_5_ms',
          'shrink_within_5_ms', 'in_time_mean_ms', 'in_time_worst_ms', 'paper_mean_ms',
          'paper_worst_ms']


def rows(found: Mapping[str, Sequence[Recovery]]) -> list[list[object]]:
    """Return the table, a row for each case."""
    return [[name, CASES[name].what, len(each), *_both(each, 'report'), *_both(each, 'shrink'),
             *_both(each, 'remedy'), _within(each, 'remedy'), _within(each, 'shrink'),
             *_both(each, 'in_time'), PAPER_MEAN, PAPER_WORST]
            for name, each in found.items()]


def _both(found: Sequence[Recovery], what: str) -> tuple[float, float]:
    values = [value for each in found if (value := getattr(each, what)) == value]
    return (statistics.fmean(values), max(values)) if values else (float('nan'), float('nan'))


def _within(found: Sequence[Recovery], what: str) -> int:
    return sum(getattr(each, what) <= GOAL_MS for each in found)


def run(folder: output.Folder, quick: bool = False) -> dict[str, list[Recovery]]:
    """Measure each case; write and return the recoveries."""
    clock, found = output.Clock(), {}
    for name, case in CASES.items():
        if quick and name != 'loan':
            continue
        ran = node_runs.Ran.of(folder.samples(
            f'recovery-{name}', functools.partial(measure, case, clock, quick)))
        found[name] = recoveries(ran, case.runtime_us, case.shrinks)
    table = rows(found)
    folder.table('recovery', HEADER, table)
    for row in table:
        print(*row)
    return found


def measure(case: Case, clock: output.Clock, quick: bool) -> dict[str, npt.ArrayLike]:
    """Return all that is known of a case, from a new virtual machine."""
    more = {} if case.cap is None else {'cap': case.cap}
    return node_runs.run(case.servers(), case.policy(), 4.0 if quick else SECONDS, clock,
                         **more).arrays()
