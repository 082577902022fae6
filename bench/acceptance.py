# SPDX-License-Identifier: Apache-2.0
"""What share of servers each placement policy accepts, beside the ceiling."""

from collections.abc import Iterable
from collections.abc import Iterator
import itertools

from bench import cloud
from bench import measure
from nova_rt import fitting

SERVERS = 3_500
SEEDS = (1, 2, 3, 4, 5)
NEW = 'least-fragmentation'

VCPUS = (1, 1, 1, 2, 2, 3, 4, 8)


def _mix(name: str, percents: Iterable[int], vcpus: Iterable[int]) -> cloud.Mix:
    return cloud.Mix(name, list(itertools.product(percents, vcpus)))


MIXED = _mix('A', range(5, 51), VCPUS)
LARGE = _mix('B', range(10, 81), VCPUS)
WIDE = _mix('C', range(5, 51), (4, 8, 12, 16))
EVEN = _mix('even', range(5, 51), range(1, 9))
SMALL = _mix('small', range(5, 21), VCPUS)
# The worst for least-fragmentation beside worst-fit that a search found: room
# that it keeps for the largest is what many smaller ones would take.
ADVERSE = cloud.Mix('adverse', [(91, 4)] * 3 + [(53, 1)] * 10 + [(14, 1)] * 3)

CASES = (
    *((MIXED, pcpus, load) for pcpus in (32, 64)
      for load in (60, 70, 80, 95)),
    *((mix, 64, load) for mix in (LARGE, WIDE, SMALL) for load in (70, 95)),
    (EVEN, 64, 70), (ADVERSE, 32, 119),
)
# Least accepted and greatest imbalance of the new policy.
AIMS = {(MIXED.name, 64, 70): (98.5, 28.5), (SMALL.name, 64, 70): (99.4, 17)}


def measurements() -> Iterator[measure.Measurement]:
    """Yield each policy's share of accepted servers, case by case."""
    for mix, pcpus, load in CASES:
        ceiling = [cloud.ceiling(mix, pcpus, load / 100, SERVERS, seed).accepted
                   for seed in SEEDS]
        for policy in fitting.POLICIES:
            yield _of_policy(policy, mix, pcpus, load, ceiling)


def _of_policy(policy: str, mix: cloud.Mix, pcpus: int, load: int,
               ceiling: list[float]) -> measure.Measurement:
    outcomes = [cloud.placed_by(policy, mix, pcpus, load / 100, SERVERS, seed)
                for seed in SEEDS]
    imbalance = measure.Spread.of([outcome.imbalance for outcome in outcomes])
    measurement = measure.compared(
        f'{mix.name}, {pcpus} pCPUs, {load}%: {policy}',
        f'the ceiling; imbalance {imbalance.median:.1f} points',
        [outcome.accepted for outcome in outcomes], ceiling, '%', 1,
        notes={'imbalance': imbalance, 'servers': SERVERS * len(SEEDS)})
    least, most = AIMS.get((mix.name, pcpus, load), (None, None))
    if policy != NEW or least is None or most is None:
        return measurement
    return measure.with_aims(
        measurement,
        measure.Aim(f'at least {least}%', measurement.ours.median >= least),
        measure.Aim(f'imbalance at most {most}', imbalance.median <= most))
