# SPDX-License-Identifier: Apache-2.0
"""Our kernel compared with the stock one, by the results of ``kernel/test``."""

from collections.abc import Iterator
import dataclasses
import json
import os
from pathlib import Path
import re
import subprocess
import tempfile

from bench import measure

TEST = Path(__file__).resolve().parent.parent / 'kernel' / 'test'
_SHARE = re.compile(r'(\S+)=([\d.]+)% \(([\d.]+)\)')
_WAIT = re.compile(r'(\S+):wait=([\d.]+)ms \(([\d.]+)\)')
_RESPONSE = re.compile(r'(task \d+):[^:]* response=([\d.]+)ms \(([\d.]+)\)')
_COST = re.compile(r'(\w+)-(switch|wakeup)=(\d+)')
_PLACES = {'group': 'in a group', 'root': 'in the root group',
           'other': 'of SCHED_OTHER'}
_SHARE_TOLERANCE = 0.1
_TIME_TOLERANCE_MS = 0.1
_COST_TOLERANCE = 1.15


@dataclasses.dataclass(frozen=True)
class Case:
    """What one case printed on one kernel.

    :ivar data: series for pictures, by name
    """

    kernel: str
    cpus: int
    hierarchy: str
    name: str
    verdict: str
    text: str
    data: dict[str, list[str]]


def run() -> list[Case]:
    """Run the tests of the kernel and return their results.

    Empty if they are skipped; they print why.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'results.json'
        path.touch()
        subprocess.run(
            [TEST], env=os.environ | {'RESULTS': str(path)}, check=False)
        return read(path)


def read(path: Path) -> list[Case]:
    """Return the cases in a file that ``kernel/test`` wrote."""
    cases = []
    for line in path.read_text().splitlines():
        fields = json.loads(line)
        series = (words.split() for words in fields['data'])
        cases.append(Case(
            fields['kernel'], fields['cpus'], fields['hierarchy'],
            fields['case'], fields['verdict'], fields['text'],
            {name: values for name, *values in series}))
    return cases


def measurements(cases: list[Case]) -> Iterator[measure.Measurement]:
    """Yield shares, waiting times and costs of our kernel and the stock one."""
    stock = {(case.cpus, case.name): case for case in cases
             if case.kernel == 'stock'}
    for case in cases:
        if case.kernel != 'ours':
            continue
        beside = stock.get((case.cpus, case.name))
        where = f'{case.name}, {case.cpus} CPU {case.hierarchy}'
        yield from _shares(where, case, beside)
        yield from _limited(where, case, beside)
        yield from _costs(case, beside)


def _shares(where: str, case: Case,
            beside: Case | None) -> Iterator[measure.Measurement]:
    theirs = {name: float(value) for name, value, _ in
              _SHARE.findall(beside.text if beside else '')}
    for name, value, reserved in _SHARE.findall(case.text):
        if name.isdecimal() or '@' in name:
            continue
        off = abs(float(value) - float(reserved))
        yield _pair(f'{where}: {name} of {reserved}%', '%', float(value),
                    theirs.get(name), measure.Aim(
                        f'within {_SHARE_TOLERANCE} points',
                        off <= _SHARE_TOLERANCE))


def _limited(where: str, case: Case,
             beside: Case | None) -> Iterator[measure.Measurement]:
    """Yield waiting and response times, which are judged on one CPU only."""
    if case.cpus > 1:
        return
    theirs = _times(beside) if beside else {}
    for name, (value, bound) in _times(case).items():
        yield _pair(f'{where}: longest {name}', 'ms', value,
                    theirs[name][0] if name in theirs else None,
                    measure.Aim(f'at most {bound:g} ms + 100 µs',
                                value <= bound + _TIME_TOLERANCE_MS))


def _times(case: Case) -> dict[str, tuple[float, float]]:
    return {
        f'{what} {who}': (float(value), float(bound))
        for what, pattern in (('wait of', _WAIT), ('response of', _RESPONSE))
        for who, value, bound in pattern.findall(case.text)}


def _costs(case: Case,
           beside: Case | None) -> Iterator[measure.Measurement]:
    theirs = {(place, kind): float(value) for place, kind, value in
              _COST.findall(beside.text if beside else '')}
    for place, kind, value in _COST.findall(case.text):
        stock = theirs.get((place, kind))
        aims = () if stock is None else (measure.Aim(
            'at most 15% more', float(value) <= _COST_TOLERANCE * stock),)
        yield _pair(f'{kind} {_PLACES[place]}, {case.hierarchy}',
                    'instructions', float(value), stock, *aims)


def _pair(name: str, unit: str, ours: float, theirs: float | None,
          *aims: measure.Aim) -> measure.Measurement:
    """Return a measurement that repeats exactly, so there is no spread."""
    if theirs is None:
        return measure.Measurement(name, unit, measure.Spread.of([ours]),
                                   aims=aims)
    ratio = measure.Spread.of([ours / theirs]) if theirs else None
    return measure.Measurement(
        name, unit, measure.Spread.of([ours]), 'the stock kernel',
        measure.Spread.of([theirs]), ratio, aims)
