# SPDX-License-Identifier: Apache-2.0
"""What a claim costs a pod, and which pods the scheduler accepts.

The control plane is real, and so is the driver; the kubelet, the runtime and the kernel are
the fakes of ``kubernetes/tests``.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import json
from pathlib import Path
import statistics
import subprocess
import tempfile
from typing import Any

from bench import acceptance
from bench import cloud
from bench import measure
from nova_rt import shares

TEST = Path(__file__).resolve().parent.parent / 'kubernetes' / 'test'
MS = 1e3
NODES = 1_000
PCPUS, PODS, LOAD = 16, 150, 0.9
POLICIES = ('worst-fit', 'best-fit')
# Section 5.2 of KubeDeadline's paper: least, mean and greatest, in milliseconds.
PAPER = {'bound': (2.0, 48.5, 466.0), 'prepared': (1.96, 6.2, 52.66)}


def measurements() -> Iterator[measure.Measurement]:
    """Yield what was measured; nothing where the stage cannot run, which it explains."""
    with tempfile.TemporaryDirectory() as folder:
        series = Path(folder)
        drawn = [_arrivals(policy) for policy in POLICIES]
        (series / 'arrivals.json').write_text(json.dumps(drawn))
        # Its lines are not rows of the table.
        done = subprocess.run((TEST, 'measure', folder), stdout=subprocess.PIPE, text=True,
                              check=False)
        files = {path.stem: json.loads(path.read_text())
                 for path in series.glob('Benchmark*.json')}
    if done.returncode:
        raise RuntimeError(f'kubernetes/test has failed:\n{done.stdout}')
    if files:
        yield from _overhead(files['BenchmarkOverhead'])
        yield from _many_nodes(files['BenchmarkThousandNodes'])
        placed = files['BenchmarkAcceptance']
        for sequence, accepted in zip(drawn, placed['accepted'], strict=True):
            yield _acceptance(sequence, placed['limit'], accepted)


def _overhead(series: Mapping[str, Sequence[float]]) -> Iterator[measure.Measurement]:
    bound = measure.compared(
        'pod with a claim, until it is bound', 'the same pod without',
        series['bound with'], series['bound without'], 'ms', MS)
    yield _beside_paper(bound, 'bound', series['bound with'])
    prepared = measure.Measurement(
        'claim prepared on its node', 'ms',
        measure.Spread.of([took * MS for took in series['prepared with']]))
    yield _beside_paper(prepared, 'prepared', series['prepared with'])
    yield measure.compared(
        'container of such a pod created and started', 'of a pod without',
        series['started with'], series['started without'], 'ms', MS)


def _beside_paper(measurement: measure.Measurement, what: str,
                  seconds: Sequence[float]) -> measure.Measurement:
    least, mean, most = PAPER[what]
    ours = statistics.mean(seconds) * MS
    aim = measure.Aim(f'mean {ours:.1f}, in the paper {mean} ({least:g} to {most:g})',
                      ours <= mean)
    return measure.with_aims(measurement, aim)


def _many_nodes(series: Mapping[str, Sequence[float]]) -> Iterator[measure.Measurement]:
    for vcpus in (1, 4):
        measurement = measure.compared(
            f'pod bound, {NODES} nodes, {vcpus} vCPUs', 'as many whole devices',
            series[f'fractions {vcpus}'], series[f'whole {vcpus}'], 'ms', MS)
        yield measure.with_aims(measurement, measure.Aim(
            'at most 10% more', measure.ratio_of(measurement) <= 1.1))


def _arrivals(policy: str) -> dict[str, Any]:
    """Return reservations that come to one node, and which have gone when each comes."""
    pods: list[dict[str, Any]] = []
    ends: dict[int, float] = {}
    for number, (now, end, wanted) in enumerate(
            cloud.arrivals(acceptance.MIXED, PCPUS, LOAD, PODS, seed=1)):
        gone = [earlier for earlier, its_end in ends.items() if its_end <= now]
        for earlier in gone:
            del ends[earlier]
        ends[number] = end
        pods.append({'Percent': wanted.runtime_us * 100 // wanted.period_us,
                     'VCPUs': wanted.vcpus, 'Gone': gone})
    return {'PCPUs': PCPUS, 'Policy': policy, 'Pods': pods}


def _acceptance(sequence: Mapping[str, Any], limit: int,
                accepted: Sequence[bool]) -> measure.Measurement:
    """Compare with what Nova accepts of the same reservations, of as much on each pCPU."""
    host = cloud.Host(sequence['Policy'], PCPUS, 0)
    host.shares = shares.HostShares.empty((limit,) * PCPUS)
    by_nova = []
    for number, (now, end, wanted) in enumerate(
            cloud.arrivals(acceptance.MIXED, PCPUS, LOAD, PODS, seed=1)):
        host.wait(now)
        by_nova.append(host.take(str(number), end, wanted))
    different = sum(ours != novas for ours, novas in zip(accepted, by_nova, strict=True))
    measurement = measure.compared(
        f'pods accepted, {PCPUS} pCPUs: {sequence["Policy"]}', 'servers accepted by Nova',
        [sum(accepted) / PODS], [sum(by_nova) / PODS], '%', 100, notes={'different': different})
    fewer = 100 * (sum(by_nova) - sum(accepted)) / PODS
    return measure.with_aims(measurement, measure.Aim('at most 1 point fewer', fewer <= 1))
