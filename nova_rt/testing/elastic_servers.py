# SPDX-License-Identifier: Apache-2.0
"""Elastic servers, and what tests ask of them."""

from collections.abc import Sequence
import time

from nova_rt import bandwidth
from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.criticality import Criticality

A, B, C = Criticality
CAP = bandwidth.fraction_to_bandwidth(0.9)
HALF = bandwidth.fraction_to_bandwidth(0.5)
# Short, as whoever gives something up is waited for.
PERIOD_US = 10_000
PCPUS = 4


def holding(percents: int, *pcpus: int, rank: Criticality | None = None,
            least: int | None = None, period_us: int = PERIOD_US) -> ledger.Holding:
    """Return a holding; the least runtime is in percent, too."""
    return ledger.Holding(
        reservation.Reservation(period_us * percents // 100, period_us, len(pcpus)), pcpus,
        elastic.Terms(rank, None if least is None else period_us * least // 100))


def elastic_40(*pcpus: int, rank: Criticality = A) -> ledger.Holding:
    """Return 40% on each pCPU, of which 10% suffice."""
    return holding(40, *pcpus, rank=rank, least=10)


def reservations() -> list[tuple[int, ledger.Holding]]:
    """Return a critical server and one that gives way to it."""
    return [(7, holding(40, 0, rank=C)), (8, elastic_40(0))]


def soon() -> float:
    """Return when a loan ends that no test waits for."""
    return time.monotonic() + 60


def on_first(bandwidths: Sequence[int]) -> int:
    """Return what a container has on the first pCPU, in percent."""
    return round(bandwidths[0] * 100 / bandwidth.BW_UNIT)


class NoConfinement:
    """Stands in for cpusets, which the stand-in for the kernel has not."""

    def move(self, *args: object) -> None:
        """Leave all threads where they are."""

    follow = move
