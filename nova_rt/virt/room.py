# SPDX-License-Identifier: Apache-2.0
"""What is free on the pCPUs, or will be: neither held nor lent, nor given up for others."""

from __future__ import annotations

from collections.abc import Sequence

from nova_rt import shares
from nova_rt.virt import giving_way
from nova_rt.virt import loans
from nova_rt.virt import shrinks
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import hierarchy


class Room:
    """The room on a host. Whoever calls holds the turn of its loans.

    :param groups: the containers' budgets
    :param tops: the groups that containers are put below
    :param empty: the host's pCPUs without any reservation
    :param book: the loans
    :param shrunk: the shrunk containers
    """

    def __init__(self, groups: hierarchy.Hierarchy, tops: Sequence[str],
                 empty: shares.HostShares, book: loans.Loans,
                 shrunk: giving_way.GivingWay) -> None:
        self._groups = groups
        self._tops = tops
        self._empty = empty
        self._book = book
        self._shrunk = shrunk

    def lendable(self, group: str, own: budget.Budget, most: int) -> list[int]:
        """Return by pCPU what a container may have beyond its own."""
        free = [min(most, capacity - held - has) if has and capacity else 0
                for capacity, held, has in zip(
                    self._empty.capacity, self._taken(group), own.bandwidths, strict=True)]
        if self._groups.one_runtime:
            least = min((free[pcpu] for pcpu in own.pcpus if self._empty.capacity[pcpu]), default=0)
            return [least if pcpu in own.pcpus else 0 for pcpu in range(len(free))]
        return free

    def holds(self, loan: loans.Loan) -> bool:
        """Return whether a loan fits below the cap, which may have been lowered since."""
        lendable = self.lendable(loan.group, loan.own, max(loan.lent))
        return all(lent <= free for lent, free in zip(loan.lent, lendable, strict=True) if lent)

    def lacking(self, group: str, own: budget.Budget, has: budget.Budget,
                most: int) -> list[int]:
        """Return by pCPU how much less a container has on loan than it may have.

        With one runtime for all of its pCPUs, what is free is not lacking: another of them may
        have kept it from that. Otherwise it has what is free.

        :param own: what it has without a loan
        """
        whole = budget.extended(own, [
            min(most, capacity - held) if held and capacity else 0
            for capacity, held in zip(self._empty.capacity, own.bandwidths, strict=True)])
        could: Sequence[int] = has.bandwidths
        if self._groups.one_runtime:
            could = [max(have, capacity - held) for have, capacity, held in zip(
                could, self._empty.capacity, self._taken(group), strict=True)]
        return [max(0, want - have) for want, have in zip(whole.bandwidths, could, strict=True)]

    def missing(self, shrink: shrinks.Shrink) -> Sequence[int]:
        """Return by pCPU what is not free of what a container has given up."""
        missing = [min(freed, max(0, held + own - capacity)) if capacity else 0
                   for freed, held, own, capacity in zip(
                       shrink.freed, self._taken(shrink.group), shrink.own.bandwidths,
                       self._empty.capacity, strict=True)]
        return self._groups.alike(missing, shrink.own)

    def _taken(self, group: str) -> list[int]:
        """Return by pCPU what others than a container have, or may still use, or gave up."""
        taken = self._groups.held_below(
            [top for top in self._tops if self._groups.exists(top)], besides=group)
        lent_by = {}
        for loan in self._book:
            if loan.returned_s is None or loan.cooling_s:
                lent_by[loan.group] = loan.lent
            # One that has ended may have used it in its last period.
            if loan.cooling_s or (
                    loan.returned_s is None and not self._groups.exists(loan.group)):
                taken = [t + lent for t, lent in zip(taken, loan.lent, strict=True)]
        return [t + kept for t, kept in zip(
            taken, self._shrunk.kept_from(group, lent_by, len(taken)), strict=True)]
