# SPDX-License-Identifier: Apache-2.0
"""Registrations of an IMS beside noise: section 6.4 of the OpenStack paper.

Figure 8: SIPp against Kamailio with MariaDB in a container, under the fair
scheduler and in a reservation, with and without four periodic noisy tasks;
the distribution of the authentication's round-trip time.
"""

from collections.abc import Mapping
import dataclasses
import functools
from pathlib import Path
import subprocess

import numpy as np

from experiments import guest
from experiments import output
from experiments import queueing
from experiments import statistics

PARTS = Path(__file__).with_name('ims')
# The paper's 99th percentiles in µs.
PAPER_P99_US = {'fair-quiet': 980, 'fair-noise': 10_614, 'hcbs-quiet': 1287,
                'hcbs-noise': 1268}
REGISTRATIONS = 10_000
# Once per user, so that all users are in memory.
WARM_UP = 200
# Not 60: SIPp shares the CPU, and some must be left with the noise.
LOAD_PERCENT = 55
# The container's reservation, each noisy task, and the reservation of all four.
RESERVED_US = (1400, 2000)
NOISE_US = (6000, 100_000)
NOISE_RUNTIME_US = 24_000
# Two round trips through the paper's network, which ours lacks.
NETWORK_US = 2 * 252.0
MEMORY_MB = 1536


@dataclasses.dataclass(frozen=True)
class Case:
    """What was measured in one case.

    :ivar times: round-trip times in µs of the paper's CPU, as they ended
    :ivar load: of the CPU, what the container used
    :ivar noise: of the CPU, what the noisy tasks used
    :ivar client: of the CPU, what SIPp used, with its start and end
    """

    name: str
    times: statistics.Values
    load: float
    noise: float
    client: float

    @property
    def series(self) -> statistics.Series:
        """Return the times; there is no model of them."""
        return statistics.Series(self.times, self.times, 0.0)

    @property
    def p99(self) -> float:
        """Return the 99th percentile in µs."""
        return statistics.percentile_99(self.times)


@functools.cache
def debian() -> Path:
    """Return the archive of the guest's programs; build it if it is missing.

    :raises guest.GuestError: if it does not build
    """
    made = subprocess.run([PARTS / 'image'], stdout=subprocess.PIPE,
                          text=True, check=False)
    if made.returncode:
        raise guest.GuestError(
            'Debian for the guest does not build: see the output of '
            'experiments/ims/image.')
    return Path(made.stdout.splitlines()[-1])


def settings(count: int) -> str:
    """Return the variables of the guest's script, in the guest's time."""
    scale = queueing.SCALE
    values = {
        'RUNTIME': RESERVED_US[0] * scale, 'PERIOD': RESERVED_US[1] * scale,
        'NOISE_C': NOISE_US[0] * scale, 'NOISE_T': NOISE_US[1] * scale,
        'NOISE_RUNTIME': NOISE_RUNTIME_US * scale, 'LOAD': LOAD_PERCENT,
        'COUNT': count, 'WARM_UP': WARM_UP,
        'CASES': f'"{" ".join(PAPER_P99_US)}"'}
    return ''.join(f'{name}={value}\n' for name, value in values.items())


def measure(count: int) -> dict[str, statistics.Values]:
    """Return the times and the use of the CPU by case, from one machine.

    :raises guest.GuestError: if a registration failed
    """
    script = (PARTS / 'guest.sh').read_text()
    result = guest.run(settings(count) + script, memory_mb=MEMORY_MB,
                      more=debian())
    return read(result.files, count)


def read(files: Mapping[str, bytes], count: int
         ) -> dict[str, statistics.Values]:
    """Return the values in the guest's files, in the paper's time.

    :raises guest.GuestError: if there are fewer registrations than wanted
    """
    kept = {}
    for line in files['use'].decode().splitlines():
        name, *used = line.split()
        kept[f'{name}-use'] = np.array(used, float)
        times = [float(row.split(';')[1]) * 1e3 / queueing.SCALE
                 for row in files[f'{name}.csv'].decode().splitlines()[1:]]
        if len(times) != count:
            raise guest.GuestError(
                f'{name}: {len(times)} of {count} registrations ended.')
        kept[name] = np.array(times)
    return kept


def cases(kept: Mapping[str, statistics.Values]) -> dict[str, Case]:
    """Return the cases by name."""
    by_name = {}
    for name in PAPER_P99_US:
        *used, passed = kept[f'{name}-use']
        by_name[name] = Case(name, kept[name], *(time / passed for time in used))
    return by_name


HEADER = ['case', 'registrations', 'container_load', 'noise_load', 'client_load',
          'mean_us', 'median_us', 'p99_us', 'p99_ci95', 'p99_with_network_us',
          'p99_paper_us']


def row(case: Case) -> list[object]:
    """Return the CSV row of one case."""
    interval = statistics.point_interval(
        case.series, lambda series: statistics.percentile_99(series.measured))
    return [case.name, case.times.size, case.load, case.noise,
            case.client, statistics.mean(case.times), float(np.median(case.times)),
            case.p99, interval.half, case.p99 + NETWORK_US,
            PAPER_P99_US[case.name]]


def change(by_name: Mapping[str, Case], scheduler: str) -> float:
    """Return by what fraction the noise changes the 99th percentile."""
    return by_name[f'{scheduler}-noise'].p99 / by_name[f'{scheduler}-quiet'].p99 - 1


def run(folder: output.Folder, quick: bool = False,
        requests: int = REGISTRATIONS) -> dict[str, Case]:
    """Measure all cases, write the table; return them by name."""
    clock = output.Clock()
    count = 100 if quick else requests
    by_name = cases(folder.samples(
        f'ims-{count}', lambda: measure(count)))
    folder.table('ims', HEADER, map(row, by_name.values()))
    for case in by_name.values():
        clock.say(f'{case.name}: 99th percentile {case.p99:.0f} µs, the '
                  f"paper's {PAPER_P99_US[case.name]}; load {case.load:.1%}, "
                  f'SIPp {case.client:.1%}')
    for scheduler in ('fair', 'hcbs'):
        clock.say(f'{scheduler}: noise changes the 99th percentile by '
                  f'{change(by_name, scheduler):+.1%}')
    return by_name
