# SPDX-License-Identifier: Apache-2.0
"""Who gives up how much to a more critical container: the least critical first."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import elastic
from nova_rt.virt.cgroup import budget

# For longer, nobody waits for what is given up, nor for a borrower that gives it back.
LONGEST_PERIOD_US = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Resident:
    """A container that runs, as it was given its reservation last.

    :ivar number: libvirt's id of it
    :ivar own: its budget by its reservation
    """

    number: int
    own: budget.Budget
    terms: elastic.Terms

    @property
    def rank(self) -> criticality.Criticality:
        """What it counts as."""
        return criticality.counted(self.terms.criticality)

    def gives(self) -> bool:
        """Return whether it may be shrunk at all."""
        least_us = self.terms.min_runtime_us
        return (least_us is not None and self.rank is not criticality.Criticality.C
                and self.own.period_us <= LONGEST_PERIOD_US
                and least_us >= bandwidth.MIN_RUNTIME_US)

    @property
    def least(self) -> budget.Budget:
        """What it has at least."""
        least_us = self.terms.min_runtime_us
        return self.own if least_us is None else budget.Budget(
            self.own.period_us, tuple(min(each, least_us) for each in self.own.runtimes_us))


def chosen(wanted: Sequence[int], misser: Resident, others: Mapping[str, Resident],
           alike: Callable[[Sequence[int], budget.Budget], Sequence[int]],
           ) -> Iterator[tuple[str, budget.Budget]]:
    """Yield who is shrunk to what, until enough is given up.

    :param wanted: by pCPU, the bandwidth that the misser lacks
    :param others: those that may be asked, by group, each with the whole of its reservation
    :param alike: :meth:`nova_rt.virt.cgroup.hierarchy.Hierarchy.alike`
    """
    lacks = list(wanted)
    below = {group: each for group, each in others.items()
             if each.gives() and each.rank < misser.rank}
    for group in sorted(below, key=lambda group: (
            below[group].rank, -max(_spare(below[group])), group)):
        resident = below[group]
        less = budget.lowered(resident.own, alike(lacks, resident.own), resident.least)
        if less != resident.own:
            yield group, less
            lacks = still_lacking(lacks, resident, less)


def still_lacking(lacks: Sequence[int], resident: Resident, less: budget.Budget) -> list[int]:
    """Return by pCPU what is lacking once a container is shrunk to less."""
    return [max(0, lack - (has - keeps)) for lack, has, keeps in zip(
        lacks, resident.own.bandwidths, less.bandwidths, strict=True)]


def _spare(resident: Resident) -> list[int]:
    """Return by pCPU how much bandwidth it can give up."""
    return [has - keeps for has, keeps in zip(
        resident.own.bandwidths, resident.least.bandwidths, strict=True)]
