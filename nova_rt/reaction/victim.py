# SPDX-License-Identifier: Apache-2.0
"""Which server is stopped so that a more critical one can be lent what it held.

The three policies are RT-Kube's (section IV-C): one resource, two, and who communicates.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import ledger
from nova_rt import shares


@dataclasses.dataclass(frozen=True, slots=True)
class Resident:
    """A server that runs on the host.

    :ivar may_go: whether it may be stopped now, as far as its state is concerned
    :ivar networks: by which it talks to others
    """

    project: str
    holding: ledger.Holding
    memory_mb: int
    may_go: bool = True
    networks: frozenset[str] = frozenset()

    @property
    def said(self) -> criticality.Criticality | None:
        """The criticality that it says, None if it says none."""
        return self.holding.terms.criticality


@dataclasses.dataclass(frozen=True, slots=True)
class _Candidate:
    """One that may be stopped.

    :ivar share: what it holds of the CPUs in question, in fixed point
    :ivar talks: whether it communicates with a more critical server of its project
    """

    server: str
    rank: criticality.Criticality
    share: int
    memory_mb: int
    talks: bool


# Returns what comes first the smaller it is, given all that may be stopped.
_Policy = Callable[[_Candidate, list[_Candidate]], tuple[int, ...]]


def _by_share(one: _Candidate, every: list[_Candidate]) -> tuple[int, ...]:
    return (-one.share,)


def _by_share_and_memory(one: _Candidate, every: list[_Candidate]) -> tuple[int, ...]:
    """Add up both as fractions of the largest, without rounding."""
    most_share = max(each.share for each in every)
    most_memory = max(1, *(each.memory_mb for each in every))
    return (-(one.share * most_memory + one.memory_mb * most_share),)


def _apart(one: _Candidate, every: list[_Candidate]) -> tuple[int, ...]:
    return one.talks, -one.share


POLICIES: Mapping[str, _Policy] = {
    'share': _by_share, 'share-and-memory': _by_share_and_memory, 'apart': _apart}


def choose(empty: shares.HostShares, running: Mapping[str, Resident], misser: str, most: int,
           lent: Mapping[int, int], policy: str, one_runtime: bool = False) -> str | None:
    """Return the server to stop, None if that of none lets the one that misses be lent more.

    Who has said no criticality has not said that it may wait, and who has said C may not.
    The least critical go first; among equals the policy decides.

    :param empty: the host without any reservation
    :param running: all that run and hold something, by server
    :param misser: one of them
    :param most: the bandwidth that may be lent on each pCPU, in fixed point
    :param lent: what that one has on loan, by pCPU: where others were shrunk for it, more than
        reservations leave free
    :param policy: one of :data:`POLICIES`
    :param one_runtime: whether it is lent the same on all of its pCPUs
    """
    suffers = running[misser]
    if suffers.said is None:
        return None
    now = empty.add_all((each.holding.reservation.bandwidth, each.holding.pcpus)
                        for each in running.values())

    def lendable(host: shares.HostShares) -> list[int]:
        free = _lendable(host, suffers.holding, most, lent)
        return [min(free)] if one_runtime and free else free

    has = lendable(now)
    # A loan is whole microseconds of the period.
    grain = bandwidth.to_bandwidth(1, suffers.holding.reservation.period_us) + 1
    candidates = [
        _candidate(server, each.said, running, suffers, empty.occupancy)
        for server, each in running.items()
        if server != misser and each.may_go and each.said is not None
        and each.said < suffers.said
        and any(after > before + grain for before, after in zip(has, lendable(
            now.remove(each.holding.reservation, each.holding.pcpus)), strict=True))]
    chosen = min(candidates, key=lambda each: (
        each.rank, POLICIES[policy](each, candidates), each.server), default=None)
    return None if chosen is None else chosen.server


def _lendable(host: shares.HostShares, holding: ledger.Holding, most: int,
              lent: Mapping[int, int]) -> list[int]:
    """Return what a server has or may have on loan, by its pCPUs."""
    return [min(most, max(0, host.left[pcpu], lent.get(pcpu, 0))) for pcpu in holding.pcpus
            if pcpu < len(host.left) and host.capacity[pcpu]]


def _candidate(server: str, rank: criticality.Criticality, running: Mapping[str, Resident],
               suffers: Resident, occupancy: shares.Occupancy) -> _Candidate:
    resident = running[server]
    held = resident.holding
    there: Iterable[int] = held.pcpus
    if occupancy is shares.Occupancy.CHOSEN:
        there = set(held.pcpus) & set(suffers.holding.pcpus)
    talks = any(
        other.project == resident.project and other.networks & resident.networks
        and criticality.counted(other.said) > rank for other in running.values())
    return _Candidate(server, rank, held.reservation.bandwidth * len([*there]),
                      resident.memory_mb, talks)
