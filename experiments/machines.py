# SPDX-License-Identifier: Apache-2.0
"""Random task sets inside virtual machines, against their analysis.

Each set is analysed first, as ``nova-rt-plan analyse --pinned`` does it, with the overhead
of the host, and with the tick where that ends turns. Then it runs in a guest, pinned and as
SCHED_FIFO, with the least reservation for it and with smaller ones, beside hogs on the same
pCPUs, or beside another guest and these.
"""

from collections.abc import Iterator
import os
from pathlib import Path
import tempfile

from experiments import guest
from experiments import machine
from experiments import machine_cases
from experiments import output
from experiments.machine import Machine
from experiments.machine_cases import Case
from experiments.machine_trials import Bench
from experiments.machine_trials import HEADER
from experiments.machine_trials import Load
from experiments.machine_trials import Outcome
from experiments.machine_trials import Speed
from nova_rt.testing import rt_sysctl
from nova_rt.virt.deadline import granularity

SECONDS = 10
PERIODS_US = (100_000, 80_000)
# Their number, and the utilisations of the first and the last.
ALONE = (5, (0.15, 0.5))
BESIDE = (3, (0.15, 0.25))
TWO_VCPUS = (2, (0.5, 0.8))
LEVELS = ('analysed', 'utilisation', 'third')


def run(folder: output.Folder, quick: bool = False) -> list[Outcome]:
    """Run everything, write the table, and return the measurements.

    :raises guest.GuestError: if this machine cannot, or is too busy
    """
    _check()
    clock = output.Clock()
    outcomes = []
    with tempfile.TemporaryDirectory() as folder_name, rt_sysctl.admission_off():
        try:
            for each in _outcomes(Path(folder_name), quick):
                clock.say(_line(each))
                outcomes.append(each)
        finally:
            folder.table(name(), HEADER, (each.row() for each in outcomes))
    _say(outcomes)
    return outcomes


def name() -> str:
    """Return what the results are called: by what ends turns here."""
    return 'machines-timer' if granularity.is_exact() else 'machines-tick'


def _check() -> None:
    if os.geteuid():
        raise guest.GuestError('This experiment needs root, for SCHED_DEADLINE.')
    if (os.cpu_count() or 1) < 2:
        raise guest.GuestError('This experiment needs two CPUs, one of them for QEMU.')


def _outcomes(work: Path, quick: bool) -> Iterator[Outcome]:
    tick_us = 0 if granularity.is_exact() else granularity.tick_us()
    bench = Bench(work, 4 if quick else SECONDS, granularity.tick_us())
    initrd = machine.initrd(work)
    with Machine('first', initrd, 1) as first:
        speed = bench.speed(first)
        alone = cases(ALONE, 1, PERIODS_US[0], tick_us, servers=1)
        for case in alone[2:3] if quick else alone:
            yield from _by_level(bench, first, speed, case)
        if quick:
            return
        with Machine('second', initrd, 1) as second:
            speeds = (speed, bench.speed(second))
            for pair in zip(*(cases(BESIDE, 1, period_us, tick_us, servers=2)
                              for period_us in PERIODS_US), strict=True):
                yield from _until_valid(bench, [
                    _load(*each, LEVELS[0]) for each in zip(
                        (first, second), speeds, pair, strict=True)])
    with Machine('wide', initrd, 2) as wide:
        speed = bench.speed(wide)
        for case in cases(TWO_VCPUS, 2, PERIODS_US[0], tick_us, servers=2):
            yield from _by_level(bench, wide, speed, case)


def _by_level(bench: Bench, runs: Machine, speed: Speed, case: Case) -> Iterator[Outcome]:
    for level in LEVELS:
        yield from _until_valid(bench, [_load(runs, speed, case, level)])


def cases(which: tuple[int, tuple[float, float]], vcpus: int, period_us: int, tick_us: int,
          servers: int) -> list[Case]:
    """Return the analysed sets.

    :param servers: SCHED_DEADLINE threads of ours on each pCPU; the kernel has one more, for
        normal tasks
    """
    return machine_cases.cases(*which, vcpus=vcpus, period_us=period_us,
                               late_us=(servers + 2) * tick_us, seed=period_us + servers)


def _load(runs: Machine, speed: Speed, case: Case, level: str) -> Load:
    return Load(runs, speed, case, level, {
        'analysed': case.analysed, 'utilisation': case.by_utilisation,
        'third': case.third}[level])


def _until_valid(bench: Bench, loads: list[Load]) -> Iterator[Outcome]:
    for outcomes in bench.attempts(loads):
        yield from outcomes


def _line(outcome: Outcome) -> str:
    load, jobs = outcome.load, outcome.jobs
    void = 'VOID, ' if outcome.void else ''
    return (f'{len(load.case.vcpus)} vCPU(s), set {load.case.index}, {load.held} '
            f'{load.reservation.runtime_us}/{load.reservation.period_us}: {void}'
            f'{outcome.short_us} µs short, {outcome.stolen_us} µs stolen; predicted '
            f'{outcome.predicted} ({outcome.certain}), missed {jobs.missed} of '
            f'{outcome.released}, worst {jobs.worst:.3f}, to bound {outcome.to_bound:.3f}')


def _say(outcomes: list[Outcome]) -> None:
    for level in LEVELS:
        valid = [each for each in outcomes if each.load.held == level and not each.void]
        void = sum(each.void for each in outcomes if each.load.held == level)
        print(f'{level}: {len(valid)} runs, {void} void; '
              f'{sum(each.jobs.missed for each in valid)} misses in '
              f'{sum(each.jobs.missed > 0 for each in valid)} runs, at least '
              f'{sum(each.certain for each in valid)} certain')
