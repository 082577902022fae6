# SPDX-License-Identifier: Apache-2.0
"""The arm driver of RT-Kube's robot, three SLAM tasks and stress: V-C and V-E.

All are on one CPU in virtual time. Once the driver's reservation is what it needs, once it is too
small, and the host full: then less critical servers are stopped for it, by each of the three
choices, or nothing is done. The paper says nothing of its SLAM tasks but their criticality.
"""

from collections.abc import Mapping
import dataclasses
import statistics

import numpy as np

from experiments import node_runs
from experiments import output

PERIOD_US = 8_333  # 120 Hz
JOB_US = 7_600
# So many jobs, and a random pause: all phases between the driver and the others occur.
DRIVER = ('driver', PERIOD_US, PERIOD_US, 1, f'{JOB_US}*100')
CHOICES = ('none', 'share', 'share-and-memory', 'apart')
RESERVATIONS = ('enough', 'too small')
POLICY = {'after': 3, 'window_s': 0.5, 'most': 0.95, 'for_s': 0.8, 'shrinks': True}
SECONDS = {'enough': 3.0, 'too small': 5.0}
# Table V: what its driver misses, in %, and how late it is at most, in ms.
PAPER = {'Kubernetes': (24.50, float('nan')), 'real time and other': (1.28, 0.95),
         'RT-Kube': (0.17, 0.49)}


def slam(number: int, runtime_us: int, period_us: int, job_us: int, memory_mb: int = 16,
         networks: tuple[str, ...] = ()) -> node_runs.Server:
    """Return a SLAM task: criticality B, a job in each period."""
    return node_runs.Server(
        runtime_us, period_us, 'B',
        (f'slam-{number}', period_us, period_us, 5 + number, f'{job_us}*1000'),
        memory_mb=memory_mb, networks=networks)


# The first SLAM task talks to the driver, the second has most memory. With 95% for all, the
# driver needs the first one's room.
SERVERS = {
    'enough': [slam(1, 800, 100_000, 500, networks=('arm',)),
               slam(2, 500, 100_000, 300, memory_mb=1024), slam(3, 200, 40_000, 100),
               node_runs.Server(7_700, PERIOD_US, 'C', DRIVER, networks=('arm',))],
    'too small': [slam(1, 16_000, 50_000, 10_000, networks=('arm',)),
                  slam(2, 1_000, 100_000, 600, memory_mb=1024), slam(3, 480, 40_000, 300),
                  node_runs.Server(5_050, PERIOD_US, 'C', DRIVER, networks=('arm',))]}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of the driver; times in ms.

    :ivar late: the deadlines that were missed
    :ivar stopped: when somebody had been stopped for it
    :ivar until: when the run ended
    """

    responses: np.ndarray
    late: np.ndarray
    stopped: np.ndarray
    until: float

    @property
    def jobs(self) -> int:
        """How many there were to be."""
        return len(self.responses) + self.skipped

    @property
    def skipped(self) -> int:
        """How many were skipped, as another one still ran."""
        return len(self.late) - int((self.responses > PERIOD_US / 1000).sum())


HEADER = ['reservation', 'choice', 'jobs', 'missed', 'missed_percent', 'skipped', 'mean_ms',
          'deviation_ms', 'worst_ms', 'worst_of_deadline', 'lateness_ms', 'stopped',
          'first_miss_s', 'last_stop_s', 'missed_after_that']


def row(reservation: str, choice: str, outcome: Outcome) -> list[object]:
    """Return what is told of one run."""
    deadline = PERIOD_US / 1000
    worst = float(outcome.responses.max())
    stopped = float(outcome.stopped[-1]) if outcome.stopped.size else float('nan')
    return [reservation, choice, outcome.jobs, len(outcome.late),
            100 * len(outcome.late) / outcome.jobs, outcome.skipped,
            float(outcome.responses.mean()), statistics.pstdev(map(float, outcome.responses)),
            worst, worst / deadline, max(0.0, worst - deadline), len(outcome.stopped),
            float(outcome.late[0]) / 1000 if outcome.late.size else float('nan'),
            stopped / 1000, int((outcome.late > stopped).sum())]


def run(folder: output.Folder, quick: bool = False) -> Mapping[tuple[str, str], Outcome]:
    """Run each combination; write and return what became of the driver."""
    clock, found = output.Clock(), {}
    for reservation in RESERVATIONS:
        for choice in CHOICES:
            if quick and (reservation, choice) != ('enough', 'none'):
                continue
            samples = folder.samples(
                f'robot-{reservation.replace(" ", "-")}-{choice}',
                lambda reservation=reservation, choice=choice: (  # type: ignore[misc]
                    measure(reservation, choice, clock, quick)))
            found[reservation, choice] = Outcome(
                samples['responses'], samples['late'], samples['stopped'],
                float(samples['until']))
    table = [row(*key, outcome) for key, outcome in found.items()]
    folder.table('robot', HEADER, table)
    for each in table:
        print(*each)
    return found


def measure(reservation: str, choice: str, clock: output.Clock,
            quick: bool = False) -> dict[str, object]:
    """Return the samples of one combination, from a new virtual machine."""
    ran = node_runs.run(
        SERVERS[reservation], None if choice == 'none' else POLICY | {'evict': choice},
        2.0 if quick else SECONDS[reservation], clock, without_fair_server=True, stresses=2)
    return {'responses': np.array(ran.responses), 'late': np.array(ran.late),
            'stopped': np.array([ended for *_, ended in ran.evictions]),
            'until': np.array(ran.releases[-1])}
