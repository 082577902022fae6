# SPDX-License-Identifier: Apache-2.0
"""Ends loans, and gives those their reservation again who were shrunk for them."""

from __future__ import annotations

from collections.abc import Collection
import contextlib
import errno
import time

from oslo_log import log as logging

from nova_rt.virt import giving_way
from nova_rt.virt import loans
from nova_rt.virt import returning
from nova_rt.virt import room
from nova_rt.virt import shrinks
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy

LOG = logging.getLogger(__name__)


class Settling:
    """What is between borrowers and those who were shrunk for them.

    Whoever calls holds the turn of the loans.

    :param groups: the containers' budgets
    :param book: where loans are written down
    :param made: the loans
    :param shrunk: the shrunk containers
    :param free: the room on the host
    """

    def __init__(self, groups: hierarchy.Hierarchy, book: loans.Loans,
                 made: returning.Returning, shrunk: giving_way.GivingWay,
                 free: room.Room) -> None:
        self._groups = groups
        self._book = book
        self._loans = made
        self._shrunk = shrunk
        self._room = free

    def settle(self) -> None:
        """Give those their reservation again who are shrunk for no loan any more.

        And those whose room is free by now.
        """
        borrowers = {shrink.borrower for shrink in self._shrunk.all()
                     if not self.backs(shrink)}
        self.settle_with(borrowers)
        self.return_what_is_free()

    def settle_with(self, borrowers: Collection[str]) -> None:
        """End the loans of some, and give those their reservation again who were shrunk."""
        self.end([borrower for borrower in sorted(borrowers)
                  if self._loans.try_to_take_back(borrower)])

    def end(self, borrowers: Collection[str], besides: str | None = None) -> None:
        """Give those their reservation again who were shrunk for loans that are returned.

        :param besides: a container that is given a budget otherwise
        """
        for borrower in borrowers:
            if self._shrunk.victims(borrower, besides):
                time.sleep(self._loans.cooling_s(borrower))
                self._shrunk.end(borrower, besides)

    def call_in(self, wanted: budget.Budget, besides: str | None = None) -> None:
        """Take back what is lent on the pCPUs of a budget that is to be given, for good.

        What cannot be taken back now is logged, and left to the kernel to decide about.

        :param besides: the container that it is given to
        """
        cooling_s, called_in = 0.0, []
        for loan in list(self._book):
            if not any(need and lent for need, lent in zip(
                    wanted.runtimes_us, loan.lent, strict=True)):
                continue
            if self._loans.try_to_take_back(loan.group):
                called_in.append(loan.group)
            cooling_s = max(cooling_s, self._loans.cooling_s(loan.group))
        time.sleep(cooling_s)
        self.end(called_in, besides)

    def call_in_of(self, borrowers: Collection[str]) -> bool:
        """Take back what some containers have on loan; return whether any had."""
        called_in = [group for group in sorted(borrowers) if self._loans.try_to_take_back(group)]
        time.sleep(max((self._loans.cooling_s(group) for group in called_in), default=0.0))
        self.end(called_in)
        return bool(called_in)

    def backs(self, shrink: shrinks.Shrink) -> bool:
        """Return whether somebody has what was given up, and may have it."""
        try:
            loan = self._loans.made(shrink.borrower) if shrink.drawn else None
        except errors.MissingControlFileError:
            return False
        return loan is not None and not loan.has_ended

    def return_what_is_free(self) -> None:
        """Give those their reservation again who need not be shrunk, and leave the loans."""
        for shrink in sorted(self._shrunk.all(), key=lambda each: (max(each.freed), each.group)):
            with contextlib.suppress(errors.MissingControlFileError):
                if self._shrunk.of(shrink.group) and not any(self._room.missing(shrink)):
                    self._shrunk.restore(shrink)

    def make_whole(self, group: str) -> bool:
        """Give a container its reservation again if it is shrunk; return whether it was.

        The borrower keeps the rest of its loan, and others stay shrunk for that.

        :raises CgroupError: if the kernel refuses
        """
        shrink = self._shrunk.of(group)
        if shrink is None:
            return False
        if self._lower_loan(shrink):
            self._shrunk.restore(shrink)
        elif self._loans.try_to_take_back(shrink.borrower):
            self.end([shrink.borrower])
        if self._shrunk.of(group) is not None:
            self.call_in(shrink.own, besides=group)
            # The kernel might admit it beside a loan that could not be called in.
            if any(self._room.missing(shrink)):
                raise errors.KernelRefusalError(
                    f'/{group} cannot have its reservation before the loan of '
                    f'/{shrink.borrower} is called in', errno.EBUSY)
            self._groups.apply(group, shrink.own)
            self._shrunk.forget(group)
        return True

    def _lower_loan(self, shrink: shrinks.Shrink) -> bool:
        """Take from a borrower what one gave up for it; return whether it has a loan still.

        If so, what it could have used of that is waited for.
        """
        try:
            loan = self._loans.made(shrink.borrower)
            if loan is None or loan.has_ended:
                return False
            missing = self._groups.alike(self._room.missing(shrink), loan.whole)
            less = budget.lowered(loan.whole, missing, loan.own)
            if less == loan.own:
                return False
            if less != loan.whole:
                # Whoever finds it so, cut off, ends the loan.
                self._shrunk.not_drawn(shrink)
                self._loans.lower(loan, less)
        except (errors.CgroupError, OSError) as exc:
            LOG.warning('What /%s has on loan could not be lowered: %s', shrink.borrower, exc)
            return False
        return True
