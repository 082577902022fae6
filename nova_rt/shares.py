# SPDX-License-Identifier: Apache-2.0
"""A host's vector of per-pCPU bandwidth, and how it travels to the scheduler.

All numbers are bandwidths in fixed point (:mod:`nova_rt.bandwidth`).
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
import functools
import operator

from nova_rt import reservation

# Placement's resource class for bandwidth summed over pCPUs or vCPUs, the key
# by which a flavor asks for it, and the trait of hosts that offer it.
RESOURCE_CLASS = 'CUSTOM_RT_SHARE'
EXTRA_SPEC = f'resources:{RESOURCE_CLASS}'
TRAIT = 'CUSTOM_HCBS'


class Occupancy(enum.Enum):
    """Which pCPUs a reservation takes bandwidth from."""

    CHOSEN = 'chosen'
    """Those chosen for it: the kernel has a runtime per CPU."""

    EVERY = 'every'
    """All: the kernel has one runtime for all CPUs."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostShares:
    """The bandwidth of a host's pCPUs.

    :ivar capacity: by pCPU, the largest bandwidth admitted; 0 where none is
    :ivar used: by pCPU, the bandwidth occupied; it decides what fits
    :ivar pinned: by pCPU, the bandwidth of the reservations whose vCPUs run
        there; it decides which of the fitting pCPUs a placement policy
        prefers. The same as ``used`` where occupancy is CHOSEN.
    :ivar occupancy: which pCPUs a reservation takes bandwidth from
    """

    capacity: tuple[int, ...]
    used: tuple[int, ...]
    pinned: tuple[int, ...]
    occupancy: Occupancy = Occupancy.CHOSEN

    @classmethod
    def empty(cls, capacity: Sequence[int],
              occupancy: Occupancy = Occupancy.CHOSEN) -> 'HostShares':
        """Return a host of this capacity without any reservation."""
        nothing = (0,) * len(capacity)
        return cls(tuple(capacity), nothing, nothing, occupancy)

    @property
    def left(self) -> tuple[int, ...]:
        """By pCPU, the bandwidth that another reservation may still take.

        Where a reservation occupies every pCPU, this is what the fullest one
        has left. Negative if the cap was lowered below what is reserved.
        """
        left = tuple(map(operator.sub, self.capacity, self.used))
        if self.occupancy is Occupancy.CHOSEN:
            return left
        least = min((free for capacity, free
                     in zip(self.capacity, left, strict=True) if capacity),
                    default=0)
        return tuple(least if capacity else free for capacity, free
                     in zip(self.capacity, left, strict=True))

    @property
    def rt_share(self) -> int:
        """Capacity summed over all pCPUs."""
        return sum(self.capacity)

    @property
    def rt_share_used(self) -> int:
        """Bandwidth occupied, summed over the pCPUs that hold reservations."""
        return sum(u for c, u in zip(self.capacity, self.used, strict=True)
                   if c)

    def add(self, wanted: reservation.Reservation,
            pcpus: Iterable[int]) -> 'HostShares':
        """Return the host with this reservation on these pCPUs."""
        return self.add_all([(wanted.bandwidth, pcpus)])

    def remove(self, held: reservation.Reservation,
               pcpus: Iterable[int]) -> 'HostShares':
        """Return the host without this reservation on these pCPUs."""
        return self.add_all([(-held.bandwidth, pcpus)])

    def add_all(self, changes: Iterable[tuple[int, Iterable[int]]],
                ) -> 'HostShares':
        """Return the host after many changes at once.

        :param changes: a bandwidth, negative to remove it, and the pCPUs
            that get it; pCPUs that the host no longer has are ignored
        """
        pinned = list(self.pinned)
        everywhere = 0
        for bandwidth, pcpus in changes:
            everywhere += bandwidth
            for pcpu in pcpus:
                if pcpu < len(pinned):
                    pinned[pcpu] += bandwidth
        if self.occupancy is Occupancy.EVERY:
            used = tuple(u + everywhere for u in self.used)
        else:
            used = tuple(pinned)
        return dataclasses.replace(self, used=used, pinned=tuple(pinned))


def to_stats(shares: HostShares) -> dict[str, str]:
    """Return the entries of ``ComputeNode.stats`` that describe a host.

    Runs of equal values are written once (``996147*64``), so that 256 pCPUs
    stay below 2 KB.
    """
    return {
        'rt_share': str(shares.rt_share),
        'rt_share_used': str(shares.rt_share_used),
        'rt_capacity': _pack(shares.capacity),
        'rt_used': _pack(shares.used),
        'rt_occupancy': shares.occupancy.value,
    }


def from_stats(stats: Mapping[str, object]) -> HostShares | None:
    """Return the host that ``ComputeNode.stats`` describes, None without one.

    This is enough to decide what fits; ``pinned`` stays on the host.

    :raises KeyError, ValueError: if the entries are not as :func:`to_stats`
        writes them
    """
    if 'rt_capacity' not in stats:
        return None
    used = unpack(stats['rt_used'])
    capacity = unpack(stats['rt_capacity'])
    if len(used) != len(capacity):
        raise ValueError('rt_used and rt_capacity differ in length')
    return HostShares(capacity, used, used, Occupancy(stats['rt_occupancy']))


def _pack(vector: Sequence[int]) -> str:
    words: list[str] = []
    start = 0
    for i in range(1, len(vector) + 1):
        if i == len(vector) or vector[i] != vector[start]:
            run = i - start
            words.append(f'{vector[start]}*{run}' if run > 1
                         else str(vector[start]))
            start = i
    return ','.join(words)


# Few hosts change between two requests, and those of one kind have the same
# capacity. An entry of 64 pCPUs takes about 3 KB.
@functools.lru_cache(maxsize=8192)
def unpack(text: str) -> tuple[int, ...]:
    """Return the vector that was written with runs of equal values."""
    if not text:
        return ()
    vector: list[int] = []
    for word in text.split(','):
        value, several, run = word.partition('*')
        if several:
            vector += [int(value)] * int(run)
        else:
            vector.append(int(value))
    return tuple(vector)

