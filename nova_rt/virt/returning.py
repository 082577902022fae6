# SPDX-License-Identifier: Apache-2.0
"""The loans that containers have, and how they are taken back."""

from __future__ import annotations

import dataclasses
import time

from oslo_log import log as logging

from nova_rt.virt import loans
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy

LOG = logging.getLogger(__name__)


class Returning:
    """The loans that have been made. Whoever calls holds their turn.

    :param groups: the containers' budgets
    :param book: where they are written down
    """

    def __init__(self, groups: hierarchy.Hierarchy, book: loans.Loans) -> None:
        self._groups = groups
        self._book = book

    def made(self, group: str) -> loans.Loan | None:
        """Return the loan that a container has, None if it has none."""
        loan = self._book.of(group)
        if loan is None or loan.returned_s is not None:
            return None
        return loan if self._groups.holds(group, loan.whole) else None

    def out(self) -> list[loans.Loan]:
        """Return the loans that have not been given back."""
        return [loan for loan in self._book if loan.returned_s is None]

    def cooling_s(self, group: str) -> float:
        """For how many seconds nobody else may have what a container gave back."""
        loan = self._book.of(group)
        return 0.0 if loan is None else loan.cooling_s

    def take_back(self, group: str) -> bool:
        """Take back a loan, and leave those who were shrunk for it as they are.

        :returns: whether the container had anything
        :raises CgroupError: if the kernel refuses
        """
        loan = self._book.of(group)
        if loan is None or loan.returned_s is not None:
            return False
        held = self._groups.held(group)
        # What was cut off may have left it with an earlier loan. A reservation is given only
        # when the loan has been returned.
        made = held == loan.whole or (
            held != loan.own and held.period_us == loan.own.period_us
            and all(has >= own for has, own in zip(
                held.runtimes_us, loan.own.runtimes_us, strict=True)))
        if made:
            self._groups.insist(group, loan.own)
        self._note_returned(loan)
        return made

    def try_to_take_back(self, group: str) -> bool:
        """Take back a loan; return whether nobody has it any more."""
        try:
            if self.take_back(group):
                LOG.info('Called in what /%s had on loan', group)
        except errors.MissingControlFileError:
            # It has ended, and may have used it in its last period.
            loan = self._book.of(group)
            if loan is not None and loan.returned_s is None:
                self._note_returned(loan)
        except (errors.CgroupError, OSError) as exc:
            LOG.warning('What /%s has on loan could not be called in: %s', group, exc)
            return False
        return True

    def _note_returned(self, loan: loans.Loan) -> None:
        """Keep others from what a borrower may have used already."""
        try:
            self._book.note(dataclasses.replace(loan, returned_s=time.monotonic()))
        except OSError as exc:
            LOG.warning('The loan of /%s has been returned, which cannot be written down: %s',
                        loan.group, exc)
            # Nobody could wait for it later.
            time.sleep(loan.whole.period_us / 1e6)
            self._book.forget(loan.group)

    def left(self, group: str, before: budget.Budget, own: budget.Budget) -> None:
        """Have what a container had until now count as a loan that it gives back.

        Not where its period changes, as a loan has that of the reservation.

        :param before: what it had
        :param own: what it has
        """
        if before.period_us != own.period_us:
            return
        before = budget.together(before, own)
        loan = self._book.of(group)
        if loan is not None and loan.cooling_s and loan.whole.period_us == before.period_us:
            before = budget.together(before, loan.whole)
        if before != own:
            self._note_returned(loans.Loan(group, own, before, time.monotonic()))

    def lower(self, loan: loans.Loan, less: budget.Budget) -> None:
        """Leave a container less of its loan, and wait until it cannot use the rest.

        :raises CgroupError: if the kernel refuses
        :raises OSError: if it cannot be written down
        """
        self._book.note(dataclasses.replace(loan, whole=less))
        self._groups.insist(loan.group, less)
        time.sleep(loan.own.period_us / 1e6)

    def forget_ended(self) -> None:
        """Forget what cannot be used any more.

        What a container had that has ended counts as given back now.
        """
        for loan in list(self._book):
            if loan.returned_s is None:
                if not self._groups.exists(loan.group):
                    self._note_returned(loan)
            elif not loan.cooling_s:
                self._book.forget(loan.group)
