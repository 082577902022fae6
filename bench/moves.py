# SPDX-License-Identifier: Apache-2.0
"""What moves between the pCPUs of a host let in, and how long planning them takes."""

from collections.abc import Iterator
import statistics
import time

from bench import acceptance
from bench import cloud
from bench import measure
from nova_rt import fitting
from nova_rt.defrag import exact
from nova_rt.defrag import planner
from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Layout

PCPUS = 64
LOAD = 70
POLICIES = ('best-fit', fitting.DEFAULT, acceptance.NEW)
# The policy that the aims are for, the least accepted in percent by mix, and the
# most moves for 100 servers.
AIMED = 'best-fit'
LEAST = {acceptance.MIXED.name: 99.3, acceptance.LARGE.name: 98.5}
MOST = 5

HOSTS = {8: 400, 32: 300, 64: 300}
# By pCPUs, the aim in ms; and the time after which a search is given up.
AIMS_MS = {8: 100, 32: 500, 64: 2_000}
LIMIT_S = 4


def measurements() -> Iterator[measure.Measurement]:
    """Yield what is accepted with moves, then the time of plans."""
    for mix in (acceptance.MIXED, acceptance.LARGE):
        in_sum, packed = ([
            cloud.ceiling(mix, PCPUS, LOAD / 100, acceptance.SERVERS, seed, packed).accepted
            for seed in acceptance.SEEDS] for packed in (False, True))
        for policy in POLICIES:
            yield _accepted(policy, mix, in_sum, packed)
    for pcpus in HOSTS:
        yield from _planned(pcpus)


def _accepted(policy: str, mix: cloud.Mix, in_sum: list[float],
              packed: list[float]) -> measure.Measurement:
    outcomes = [cloud.placed_by(policy, mix, PCPUS, LOAD / 100, acceptance.SERVERS, seed,
                                planner.AT_CLAIM) for seed in acceptance.SEEDS]
    moves = measure.Spread.of([outcome.moves for outcome in outcomes])
    measurement = measure.compared(
        f'{mix.name}, {PCPUS} pCPUs, {LOAD}%: {policy}, moves',
        f'what the packing bound admits; {statistics.median(in_sum):.2f}% by the sum; '
        f'{moves.median:.1f} moves for 100 servers',
        [outcome.accepted for outcome in outcomes], packed, '%', 1,
        notes={'moves': moves, 'by the sum': measure.Spread.of(in_sum),
               'servers': acceptance.SERVERS * len(outcomes)})
    if policy != AIMED:
        return measurement
    return measure.with_aims(
        measurement,
        measure.Aim(f'at least {LEAST[mix.name]}%', measurement.ours.median >= LEAST[mix.name]),
        measure.Aim(f'at most {MOST} moves for 100', moves.median <= MOST))


def _planned(pcpus: int) -> Iterator[measure.Measurement]:
    """Yield the time of quick and of exact plans on the same hosts."""
    quick, exactly, answers = [], [], []
    for seed in range(HOSTS[pcpus]):
        host, wanted = cloud.fragmented(
            fitting.DEFAULT, acceptance.MIXED, pcpus, LOAD / 100, seed)
        began = time.perf_counter()
        planner.room(host.shares, host.held, wanted)
        quick.append(1e3 * (time.perf_counter() - began))
        began = time.perf_counter()
        answers.append(exact.find(Layout.of(host.shares, host.held), Goal.room_for(wanted),
                                  planner.AT_DESK, LIMIT_S))
        exactly.append(1e3 * (time.perf_counter() - began))
    yield measure.Measurement(
        f'moves planned quickly, {pcpus} pCPUs', 'ms',
        measure.Spread.of(quick),
        notes={'hosts': len(quick), '99 of 100 within': _percentile(quick, 99)})
    proven = sum(answer.proven for answer in answers)
    yield measure.Measurement(
        f'fewest moves planned, {pcpus} pCPUs', 'ms', measure.Spread.of(exactly),
        f'{proven} of {len(answers)} proven',
        notes={'hosts': len(answers), 'proven': proven,
               'with a plan': sum(answer.moves is not None for answer in answers),
               '90 of 100 within': _percentile(exactly, 90)},
        aims=(measure.Aim(f'median under {AIMS_MS[pcpus]} ms',
                          statistics.median(exactly) < AIMS_MS[pcpus]),))


def _percentile(samples: list[float], percent: int) -> float:
    return statistics.quantiles(samples, n=100)[percent - 1]
