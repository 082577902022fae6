# SPDX-License-Identifier: Apache-2.0
"""What a control group may run: a period and one runtime for each pCPU."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

from nova_rt import bandwidth
from nova_rt import reservation


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """A group's period and its runtime on each pCPU.

    :ivar period_us: in µs
    :ivar runtimes_us: by pCPU, in µs; 0 where the group may not run
        real-time tasks
    """

    period_us: int
    runtimes_us: tuple[int, ...]

    @property
    def bandwidths(self) -> tuple[int, ...]:
        """By pCPU, the bandwidth in fixed point."""
        return tuple(bandwidth.to_bandwidth(runtime_us, self.period_us)
                     for runtime_us in self.runtimes_us)

    @property
    def pcpus(self) -> frozenset[int]:
        """Those on which it has any runtime."""
        return frozenset(
            pcpu for pcpu, runtime_us in enumerate(self.runtimes_us) if runtime_us)


def on_chosen(wanted: reservation.Reservation, pcpus: Iterable[int],
              count: int) -> Budget:
    """Return a reservation's budget where the kernel takes one per pCPU.

    :param count: how many pCPUs the host has
    """
    chosen = frozenset(pcpus)
    return Budget(wanted.period_us, tuple(
        wanted.runtime_us if pcpu in chosen else 0 for pcpu in range(count)))


def on_every(wanted: reservation.Reservation, count: int) -> Budget:
    """Return a reservation's budget where the kernel takes one for all."""
    return Budget(wanted.period_us, (wanted.runtime_us,) * count)


def extended(own: Budget, extra: Sequence[int]) -> Budget:
    """Return a budget with more bandwidth, rounded down to what the period can hold.

    :param extra: by pCPU, in fixed point
    """
    return Budget(own.period_us, tuple(
        bandwidth.longest_runtime(has + more, own.period_us) if more > 0 else runtime_us
        for runtime_us, has, more in zip(
            own.runtimes_us, own.bandwidths, extra, strict=True)))


def lowered(has: Budget, less: Sequence[int], least: Budget) -> Budget:
    """Return a budget with less bandwidth, but no less than another of its period.

    :param less: by pCPU, in fixed point
    """
    return Budget(has.period_us, tuple(
        max(least_us, bandwidth.longest_runtime(max(0, from_ - by), has.period_us))
        if runtime_us and by > 0 else runtime_us
        for runtime_us, from_, by, least_us in zip(
            has.runtimes_us, has.bandwidths, less, least.runtimes_us, strict=True)))


def levelled(amounts: Sequence[int], pcpus: Collection[int]) -> list[int]:
    """Return the largest of the amounts on some pCPUs for each of these, and 0 for others."""
    largest = max((amounts[pcpu] for pcpu in pcpus), default=0)
    return [largest if pcpu in pcpus else 0 for pcpu in range(len(amounts))]


def together(one: Budget, other: Budget) -> Budget:
    """Return what two budgets of one period need on each pCPU: the larger of both.

    :raises ValueError: if their periods differ
    """
    if one.period_us != other.period_us:
        raise ValueError(f'The periods differ: {one.period_us} and {other.period_us} µs.')
    return Budget(one.period_us, tuple(
        map(max, one.runtimes_us, other.runtimes_us)))


def covering(period_us: int, bandwidths: Sequence[int]) -> Budget:
    """Return the least budget of this period that holds these bandwidths."""
    return Budget(period_us, tuple(
        bandwidth.runtime_covering(needed, period_us) for needed in bandwidths))
