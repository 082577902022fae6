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
import itertools
import operator

from nova_rt import bandwidth
from nova_rt import reservation
from nova_rt import wording

# Placement's resource class for bandwidth summed over pCPUs or vCPUs, the key
# by which a flavor asks for it, and the trait of hosts that offer it.
RESOURCE_CLASS = 'CUSTOM_RT_SHARE'
EXTRA_SPEC = f'resources:{RESOURCE_CLASS}'
TRAIT = 'CUSTOM_HCBS'

# Sizes of reservations are counted in steps of 1/128 CPU: small enough to tell
# usual ones apart, and few enough to travel to the scheduler.
SIZE_SHIFT = bandwidth.BW_SHIFT - 7
_NO_SIZES = (0,) * ((1 << 7) + 1)


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
    :ivar sizes: how many vCPUs have a reservation of each size: bandwidth in
        steps of 1/128 CPU, rounded down. A placement policy may keep room for
        those that are usual.
    :ivar left: by pCPU, the bandwidth that another reservation may still take.
        Where a reservation occupies every pCPU, this is what the fullest one
        has left. Negative if the cap was lowered below what is reserved.
    """

    capacity: tuple[int, ...]
    used: tuple[int, ...]
    pinned: tuple[int, ...]
    occupancy: Occupancy = Occupancy.CHOSEN
    sizes: tuple[int, ...] = _NO_SIZES
    left: tuple[int, ...] = dataclasses.field(
        init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute what is left, which filter, weigher and claim all ask for."""
        left = tuple(map(operator.sub, self.capacity, self.used))
        if self.occupancy is Occupancy.EVERY:
            least = min(itertools.compress(left, self.capacity), default=0)
            left = tuple(least if capacity else free for capacity, free
                         in zip(self.capacity, left, strict=True))
        object.__setattr__(self, 'left', left)

    @classmethod
    def empty(cls, capacity: Sequence[int],
              occupancy: Occupancy = Occupancy.CHOSEN) -> 'HostShares':
        """Return a host of this capacity without any reservation."""
        nothing = (0,) * len(capacity)
        return cls(tuple(capacity), nothing, nothing, occupancy)

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
        sizes = list(self.sizes)
        everywhere = 0
        for amount, pcpus in changes:
            everywhere += amount
            size, step = abs(amount) >> SIZE_SHIFT, 1 if amount > 0 else -1
            for pcpu in pcpus:
                if pcpu < len(pinned):
                    pinned[pcpu] += amount
                    sizes[size] += step
        now = tuple(pinned)
        used = now
        if self.occupancy is Occupancy.EVERY:
            used = tuple(u + everywhere for u in self.used)
        return HostShares(
            self.capacity, used, now, self.occupancy, tuple(sizes))


def check_extra_spec(extra_specs: Mapping[str, object], vcpus: int) -> None:
    """Refuse a share in a flavor that is not that of the flavor's own reservation.

    A flavor needs none, but others may read it there.

    :param vcpus: of the flavor
    :raises nova_rt.reservation.InvalidReservationError: with the number that is right
    """
    if EXTRA_SPEC not in extra_specs:
        return
    described = reservation.described(extra_specs, vcpus)
    if described is None:
        raise reservation.InvalidReservationError(
            f'{EXTRA_SPEC} is set, but the flavor has no reservation of its own: remove it, '
            f'or set {reservation.RUNTIME} and {reservation.PERIOD} too.')
    if reservation.parse_number(EXTRA_SPEC, extra_specs[EXTRA_SPEC]) != described.share:
        raise reservation.InvalidReservationError(
            f'{EXTRA_SPEC} is {wording.shown(extra_specs[EXTRA_SPEC])}, but the share of '
            f"the flavor's reservation is {described.share}: set it to that, or remove it.")


def to_stats(shares: HostShares, with_sizes: bool = True) -> dict[str, str]:
    """Return the entries of ``ComputeNode.stats`` that describe a host.

    Runs of equal values are written once (``996147*64``) where that leaves at most
    a third of the numbers; more would be slower to read than the numbers. 256
    pCPUs stay below 2 KB either way.

    :param with_sizes: whether the host's placement policy weighs sizes, which
        the scheduler would otherwise read in vain
    """
    return {
        'rt_share': str(shares.rt_share),
        'rt_share_used': str(shares.rt_share_used),
        'rt_capacity': _pack(shares.capacity),
        'rt_used': _pack(shares.used),
        'rt_sizes': _pack(shares.sizes) if with_sizes else '',
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
    sizes = unpack(stats.get('rt_sizes', '')) or _NO_SIZES
    if len(sizes) != len(_NO_SIZES):
        raise ValueError(f'rt_sizes has {len(sizes)} numbers, '
                         f'not {len(_NO_SIZES)}')
    return HostShares(
        capacity, used, used, Occupancy(stats['rt_occupancy']), sizes)


def _pack(vector: Sequence[int]) -> str:
    runs = [(value, len(list(group)))
            for value, group in itertools.groupby(vector)]
    if 3 * len(runs) > len(vector):
        return ','.join(map(str, vector))
    return ','.join(f'{value}*{run}' if run > 1 else str(value)
                    for value, run in runs)


# Few hosts change between two requests, and those of one kind have the same
# capacity. An entry of 64 pCPUs takes about 3 KB.
@functools.lru_cache(maxsize=16_384)
def unpack(text: str) -> tuple[int, ...]:
    """Return the vector that was written with runs of equal values."""
    if not text:
        return ()
    words = text.split(',')
    if '*' not in text:
        return tuple(map(int, words))
    vector: list[int] = []
    for word in words:
        if '*' in word:
            value, _, run = word.partition('*')
            vector += [int(value)] * int(run)
        else:
            vector.append(int(word))
    return tuple(vector)

