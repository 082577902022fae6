# SPDX-License-Identifier: Apache-2.0
"""Requests of random size through a token bucket: section 6.3 of the paper.

Figure 7: exponential packet sizes at 16, 32 and 64 Mbps; average and 99th
percentile of the response times beside equation (6).
"""

from collections.abc import Sequence
import dataclasses

import numpy as np

from experiments import guest
from experiments import output
from experiments import queueing as requests_
from experiments import statistics
from nova_rt.model import cbs_queue
from nova_rt.model import paper
from nova_rt.model import queueing

MEGABITS = (16, 32, 64)
LOAD, BANDWIDTH, MEAN_BYTES = 0.5, 0.8, 2048.0
# By network bandwidth: from near its limit, where E[z] takes as long as 1/λ.
GAPS_US = {16: (1100, 1250, 1500, 2000, 2500), 32: (560, 700, 1000, 1750, 2500),
           64: (290, 400, 700, 1500, 2500)}
REQUESTS = 6000
# What the guest's program puts before the padding.
HEADER_BYTES = 24
MAX_BYTES = 60_000
# Headers of Ethernet, IP and TCP per packet, and its largest payload.
PACKET_BYTES, PAYLOAD_BYTES = 66, 1448


@dataclasses.dataclass(frozen=True)
class Point:
    """What was measured at one inter-arrival time; times in µs.

    :ivar measured: response times, by request
    :ivar ideal: of the paper's two queues, fed the same
    :ivar delay: 2δ
    """

    megabits: int
    gap_us: float
    measured: statistics.Values
    ideal: statistics.Values
    delay: float

    @property
    def service(self) -> queueing.Service:
        """The parameters of the equations."""
        rate = 1e6 / self.gap_us
        return queueing.Service(
            rate, rate / LOAD, self.delay / 2e6,
            queueing.transmission_rate(self.megabits * 1e6, MEAN_BYTES))

    def expected(self, level: str) -> float:
        """Return the mean (8) or the bound of the 99th percentile (6)."""
        of = queueing.mean(self.service, BANDWIDTH) if level == 'mean' else (
            queueing.percentile_bound(self.service, BANDWIDTH, paper.LEVEL))
        return 1e6 * of

    def exact(self) -> float:
        """Return the 99th percentile in the model, which (6) bounds."""
        return 1e6 * queueing.percentile(self.service, BANDWIDTH, paper.LEVEL)

    def series(self, level: str) -> statistics.Series:
        """Return the measured response times and those of the two queues."""
        expected = self.expected(level) if level == 'mean' else self.exact()
        return statistics.Series(self.measured, self.ideal + self.delay,
                                 expected)


def sizes(count: int, seed: int) -> statistics.Values:
    """Return exponential sizes in bytes, as the equations have them."""
    source = np.random.default_rng(1000 + seed)
    return source.exponential(MEAN_BYTES, count)


def on_the_wire(drawn: statistics.Values) -> statistics.Values:
    """Return the bytes that the program sends, at least its header.

    The packets' headers are subtracted, so that the token bucket sees the
    drawn size.
    """
    packets = np.ceil(drawn / (PAYLOAD_BYTES + PACKET_BYTES))
    sent: statistics.Values = np.clip(
        drawn - packets * PACKET_BYTES, HEADER_BYTES, MAX_BYTES)
    return sent


def rate(megabits: int) -> str:
    """Return tc's options, with the bandwidth in the guest's stretched time.

    The bucket is the smallest that lets a packet through; no packet is dropped.
    """
    return (f'rate {round(megabits * 1e6 / requests_.SCALE)}bit burst 1600 '
            'limit 50000000')


def measure(folder: output.Folder, megabits: int, gaps_us: Sequence[float],
            count: int) -> list[Point]:
    """Return the points of one network bandwidth, from one machine."""
    draws = [requests_.draw(gap, LOAD, count, seed)
             for seed, gap in enumerate(gaps_us, 1)]
    drawn = [sizes(count, seed) for seed in range(1, len(gaps_us) + 1)]
    kept = folder.samples(f'tokenbucket-{megabits}-{count}', lambda: _in_guest(
        megabits, [requests_.PING, *draws],
        [np.full(requests_.PING.at.size, float(HEADER_BYTES)), *drawn]))
    return [Point(megabits, gap, kept[f'responses{index}'],
                  _ideal(draw, size, megabits),
                  float(np.median(kept['responses0'])))
            for index, (gap, draw, size) in enumerate(
                zip(gaps_us, draws, drawn, strict=True), 1)]


def _in_guest(megabits: int, draws: Sequence[requests_.Draw],
              drawn: Sequence[statistics.Values]
              ) -> dict[str, statistics.Values]:
    held = requests_.reservation(BANDWIDTH)
    return requests_.responses(guest.run('\n'.join(
        f'exp queueing /data/{index} /out/{index} {held} "{rate(megabits)}"'
        for index in range(len(draws))),
        {str(index): requests_.encoded(draw, on_the_wire(size))
         for index, (draw, size) in enumerate(zip(draws, drawn, strict=True))}))


def _ideal(drawn: requests_.Draw, size: statistics.Values,
           megabits: int) -> statistics.Values:
    """Return the response times of the network's queue and the server's."""
    through = cbs_queue.departures(drawn.at, size * 8 / megabits)
    return cbs_queue.departures(
        through, drawn.work / BANDWIDTH) - drawn.at


HEADER = ['mbps', 'gap_us', 'requests', 'delay_us', 'p99_exact', *(
    f'{level}_{what}' for level in requests_.LEVELS
    for what in ('equation', 'measured', 'measured_ci95', 'paired',
                 'paired_ci95'))]


def point_row(point: Point) -> list[object]:
    """Return the CSV row of one point."""
    row: list[object] = [point.megabits, point.gap_us, point.measured.size,
                         point.delay, point.exact()]
    for level, statistic in requests_.LEVELS.items():
        row += [point.expected(level),
                *statistics.both(point.series(level), statistic)]
    return row


def run(folder: output.Folder, quick: bool = False,
        requests: int = REQUESTS) -> list[list[Point]]:
    """Measure all bandwidths, write the table; return the points."""
    clock = output.Clock()
    by_bandwidth = []
    for megabits in MEGABITS[:1] if quick else MEGABITS:
        gaps = GAPS_US[megabits][-1:] if quick else GAPS_US[megabits]
        by_bandwidth.append(measure(
            folder, megabits, gaps, 200 if quick else requests))
        clock.say(f'{megabits} Mbps')
    folder.table('tokenbucket', HEADER, (
        point_row(point) for points in by_bandwidth for point in points))
    clock.say('done')
    return by_bandwidth
