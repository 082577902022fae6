# SPDX-License-Identifier: Apache-2.0
"""Lends containers what nobody claims, and calls it in where somebody does."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import threading
import time

from oslo_log import log as logging

from nova_rt import shares
from nova_rt.virt import loans
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy

LOG = logging.getLogger(__name__)


class Lending:
    """The loans of a host's containers.

    :param groups: their budgets
    :param empty: the host's pCPUs without any reservation, of which nobody has more
        than the cap with loans, either
    :param book: where loans are written down
    """

    def __init__(self, groups: hierarchy.Hierarchy, empty: shares.HostShares,
                 book: loans.Loans) -> None:
        self._groups = groups
        self._empty = empty
        self._book = book
        self._lock = threading.RLock()
        self._depth = 0

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Let nothing be lent meanwhile, by no thread and no process.

        It is held while a budget is given for which loans were called in.
        """
        with self._lock:
            self._depth += 1
            try:
                # A second lock of the file would wait for the first.
                with self._book.turn() if self._depth == 1 else contextlib.nullcontext():
                    yield
            finally:
                self._depth -= 1

    def lend(self, group: str, tops: Sequence[str], most: int,
             until_s: float) -> Mapping[int, int]:
        """Let a container have what is free on its pCPUs; see :meth:`Host.lend`.

        :param tops: the groups that containers are put below
        :raises CgroupError: if the kernel refuses; all is then as before
        :raises OSError: if it cannot be written down
        """
        self._book.make_folder()
        with self.turn():
            before = self._made(group)
            own = self._groups.held(group) if before is None else before.own
            loan = loans.Loan(group, own, budget.extended(
                own, self._lendable(group, own, tops, most)), until_s)
            if loan.whole == own:
                self.give_back(group)
                return {}
            # A service that is killed in between leaves a loan that was never made.
            self._book.note(loan)
            try:
                self._groups.apply(group, loan.whole)
            except errors.CgroupError:
                if before is None:
                    self.forget(group)
                else:
                    self._book.note(before)
                raise
        return {pcpu: lent for pcpu, lent in enumerate(loan.lent) if lent}

    def give_back(self, group: str) -> bool:
        """Take back what a container has on loan; return whether it had anything.

        :raises CgroupError: if the kernel refuses, as it may while it counts what has ended
        """
        with self.turn():
            noted, loan = self._book.of(group), self._made(group)
            if loan is not None:
                self._groups.apply(group, loan.own)
                self._book.note(dataclasses.replace(loan, returned_s=time.monotonic()))
            elif noted is not None and noted.returned_s is None:
                # It was never made, or its server was given another budget.
                self.forget(group)
            return loan is not None

    def _made(self, group: str) -> loans.Loan | None:
        """Return the loan that a container has, None if it has none."""
        loan = self._book.of(group)
        if loan is None or loan.returned_s is not None:
            return None
        return loan if self._groups.holds(group, loan.whole) else None

    def _lendable(self, group: str, own: budget.Budget, tops: Sequence[str],
                  most: int) -> list[int]:
        """Return by pCPU what a container may have beyond its own."""
        taken = self._groups.held_below(tops, besides=group)
        for loan in self._book:
            if loan.cooling_s:
                taken = [t + lent for t, lent in zip(taken, loan.lent, strict=True)]
        free = [min(most, capacity - held - has) if has and capacity else 0
                for capacity, held, has in zip(
                    self._empty.capacity, taken, own.bandwidths, strict=True)]
        if self._empty.occupancy is shares.Occupancy.EVERY:
            least = min((each for each, capacity in zip(
                free, self._empty.capacity, strict=True) if capacity), default=0)
            return [least] * len(free)
        return free

    def call_in(self, wanted: budget.Budget) -> None:
        """Take back what is lent on the pCPUs of a budget that is to be given, for good.

        What cannot be taken back now is logged, and left to the kernel to decide about.
        """
        cooling_s = 0.0
        for loan in list(self._book):
            if not any(need and lent for need, lent in zip(
                    wanted.runtimes_us, loan.lent, strict=True)):
                continue
            try:
                if self.give_back(loan.group):
                    LOG.info('Called in what /%s had on loan', loan.group)
            except errors.MissingControlFileError:
                continue
            except errors.CgroupError as exc:
                LOG.warning('What /%s has on loan could not be called in: %s', loan.group, exc)
            returned = self._book.of(loan.group)
            if returned is not None:
                cooling_s = max(cooling_s, returned.cooling_s)
        time.sleep(cooling_s)

    def forget(self, group: str) -> None:
        """Forget the loan of a container that has another budget now, or none."""
        self._book.forget(group)

    def keeps(self, group: str, own: budget.Budget) -> bool:
        """Return whether a container has a loan that has not ended, and no more."""
        loan = self._made(group)
        return loan is not None and not loan.has_ended and loan.own == own

    def forget_ended(self) -> None:
        """Forget the loans of containers that have ended, and what was given back."""
        with self.turn():
            for loan in list(self._book):
                given_back = loan.returned_s is not None and not loan.cooling_s
                if given_back or not self._groups.exists(loan.group):
                    self.forget(loan.group)

    def without_loan(self, group: str | None, held: Sequence[int]) -> Sequence[int]:
        """Return what a container holds but for a loan, by pCPU."""
        loan = self._book.of(group) if group else None
        if loan is None or loan.has_ended or tuple(held) != loan.whole.bandwidths:
            return held
        return loan.own.bandwidths
