# SPDX-License-Identifier: Apache-2.0
"""Lends containers what nobody claims, and calls it in where somebody does.

What is free may not be enough for a critical container. Less critical ones that are elastic
are then shrunk first (:mod:`nova_rt.virt.giving_way`).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import errno
import threading
import time

from oslo_log import log as logging

from nova_rt import shares
from nova_rt.virt import giving_way
from nova_rt.virt import loans
from nova_rt.virt import shrinking
from nova_rt.virt import shrinks
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy

LOG = logging.getLogger(__name__)


class Lending:
    """The loans of a host's containers.

    :param groups: their budgets
    :param tops: the groups that containers are put below
    :param empty: the host's pCPUs without any reservation, of which nobody has more
        than the cap with loans, either
    :param book: where loans are written down
    """

    def __init__(self, groups: hierarchy.Hierarchy, tops: Sequence[str],
                 empty: shares.HostShares, book: loans.Loans) -> None:
        self._groups = groups
        self._tops = tops
        self._empty = empty
        self._book = book
        self._shrunk = giving_way.GivingWay(groups, shrinks.Shrinks(book.folder))
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

    def lend(self, group: str, most: int, until_s: float,
             shrink: bool = False) -> Mapping[int, int]:
        """Let a container have what is free on its pCPUs; see :meth:`Host.lend`.

        One that was shrunk itself has all of its reservation again, and no more.

        :param shrink: whether less critical ones are shrunk for it
        :raises CgroupError: if the kernel refuses; all is then as before
        :raises OSError: if it cannot be written down
        """
        self._book.make_folder()
        until_s = min(until_s, time.monotonic() + loans.LONGEST_S)
        with self.turn():
            if self.make_whole(group):
                self._shrunk.spare(group, until_s)
                return {}
            self._settle({each.borrower for each in self._shrunk.victims(group)
                          if not each.drawn})
            if not self._cool_down(group):
                return {}
            self._lend_free(group, most, until_s)
            if shrink:
                self._lend_more(group, most, until_s)
            self._return_what_is_free()
            loan = self._made(group)
        return {pcpu: lent for pcpu, lent in enumerate(loan.lent) if lent} if loan else {}

    def _cool_down(self, group: str) -> bool:
        """Wait until a container cannot use what it gave back; return whether it cannot.

        Its note, which a new loan replaces, is what keeps others from that. For a long time
        nobody waits, as everybody would wait who starts here.
        """
        cooling_s = self._cooling_s(group)
        if cooling_s > shrinking.LONGEST_PERIOD_US / 1e6:
            return False
        time.sleep(cooling_s)
        return True

    def _lend_free(self, group: str, most: int, until_s: float) -> loans.Loan | None:
        """Lend what is free; return the loan, None if there is nothing to lend."""
        before = self._made(group)
        own = self._groups.held(group) if before is None else before.own
        whole = budget.extended(own, self._lendable(group, own, most))
        if before is not None:
            # What it has, nobody else needs.
            whole = budget.together(whole, before.whole)
        loan = loans.Loan(group, own, whole, until_s)
        if loan.whole == own:
            return None
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
        return loan

    def _lend_more(self, group: str, most: int, until_s: float) -> None:
        """Lend what less critical containers have on loan or can give up, as far as needed."""
        lacks = self._lacking(group, most)
        lesser = self._shrunk.lesser(group)
        if lesser is None or not any(lacks):
            return
        try:
            if self._call_in_of([
                    loan.group for loan in self._out() if loan.group in lesser
                    and any(lack and lent for lack, lent in zip(
                        lacks, loan.lent, strict=True))]):
                self._lend_free(group, most, until_s)
                lacks = self._lacking(group, most)
            # Who has something on loan elsewhere can give up something here.
            borrowers = {loan.group for loan in self._out()}
            self._call_in_of(borrowers & self._shrunk.asked(
                group, lacks, self._empty.occupancy, borrowers).keys())
            if self._shrunk.begin(group, self._shrunk.asked(
                    group, lacks, self._empty.occupancy)):
                self._lend_given_up(group, most, until_s)
        except (errors.CgroupError, OSError) as exc:
            LOG.warning('/%s is lent no more than what is free: %s', group, exc)
            self._shrunk.undo(group)

    def _lend_given_up(self, group: str, most: int, until_s: float) -> None:
        """Lend what was given up for a container, or give it back if it has no use for it."""
        before = self._made(group)
        loan = self._lend_free(group, most, until_s)
        if loan is None or (before is not None and loan.whole == before.whole):
            self._shrunk.undo(group)
            return
        try:
            self._shrunk.drawn(group)
        except OSError as exc:
            # Nobody else would know that they may stay shrunk.
            LOG.warning('/%s is lent nothing, as it cannot be written down: %s', group, exc)
            self._settle([group])

    def _lacking(self, group: str, most: int) -> list[int]:
        """Return by pCPU how much less a container has on loan than it may have."""
        loan = self._made(group)
        own = self._groups.held(group) if loan is None else loan.own
        has = own if loan is None else loan.whole
        whole = budget.extended(own, [
            min(most, capacity - held) if held and capacity else 0
            for capacity, held in zip(self._empty.capacity, own.bandwidths, strict=True)])
        return [max(0, want - have) for want, have in zip(
            whole.bandwidths, has.bandwidths, strict=True)]

    def _out(self) -> list[loans.Loan]:
        """Return the loans that have not been given back."""
        return [loan for loan in self._book if loan.returned_s is None]

    def _call_in_of(self, borrowers: Collection[str]) -> bool:
        """Take back what some containers have on loan; return whether any had."""
        called_in = [group for group in sorted(borrowers) if self._try_to_take_back(group)]
        time.sleep(max((self._cooling_s(group) for group in called_in), default=0.0))
        self._end(called_in)
        return bool(called_in)

    def give_back(self, group: str) -> bool:
        """Take back what a container has on loan; return whether it had anything.

        Who was shrunk for it then has its reservation again.

        :raises CgroupError: if the kernel refuses, as it may while it counts what has ended
        """
        with self.turn():
            had = self._take_back(group)
            self._end([group])
            return had

    def _take_back(self, group: str) -> bool:
        """Take back a loan, and leave those who were shrunk for it as they are."""
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

    def _note_returned(self, loan: loans.Loan) -> None:
        """Keep others from what a borrower may have used already."""
        try:
            self._book.note(dataclasses.replace(loan, returned_s=time.monotonic()))
        except OSError as exc:
            LOG.warning('The loan of /%s has been returned, which cannot be written down: %s',
                        loan.group, exc)
            # Nobody could wait for it later.
            time.sleep(loan.whole.period_us / 1e6)
            self.forget(loan.group)

    def _try_to_take_back(self, group: str) -> bool:
        """Take back a loan; return whether nobody has it any more."""
        try:
            if self._take_back(group):
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

    def _end(self, borrowers: Collection[str], besides: str | None = None) -> None:
        """Give those their reservation again who were shrunk for loans that are returned.

        :param besides: a container that is given a budget otherwise
        """
        for borrower in borrowers:
            if self._shrunk.victims(borrower, besides):
                time.sleep(self._cooling_s(borrower))
                self._shrunk.end(borrower, besides)

    def _cooling_s(self, group: str) -> float:
        loan = self._book.of(group)
        return 0.0 if loan is None else loan.cooling_s

    def _made(self, group: str) -> loans.Loan | None:
        """Return the loan that a container has, None if it has none."""
        loan = self._book.of(group)
        if loan is None or loan.returned_s is not None:
            return None
        return loan if self._groups.holds(group, loan.whole) else None

    def _lendable(self, group: str, own: budget.Budget, most: int) -> list[int]:
        """Return by pCPU what a container may have beyond its own."""
        free = [min(most, capacity - held - has) if has and capacity else 0
                for capacity, held, has in zip(
                    self._empty.capacity, self._taken(group), own.bandwidths, strict=True)]
        if self._empty.occupancy is shares.Occupancy.EVERY:
            least = min((each for each, capacity in zip(
                free, self._empty.capacity, strict=True) if capacity), default=0)
            return [least] * len(free)
        return free

    def _missing(self, shrink: shrinks.Shrink) -> list[int]:
        """Return by pCPU what is not free of what a container has given up."""
        missing = [min(freed, max(0, held + own - capacity)) if capacity else 0
                   for freed, held, own, capacity in zip(
                       shrink.freed, self._taken(shrink.group), shrink.own.bandwidths,
                       self._empty.capacity, strict=True)]
        if self._empty.occupancy is shares.Occupancy.EVERY:
            return [max(missing)] * len(missing)
        return missing

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
            if self._try_to_take_back(loan.group):
                called_in.append(loan.group)
            cooling_s = max(cooling_s, self._cooling_s(loan.group))
        time.sleep(cooling_s)
        self._end(called_in, besides)

    def admit(self, group: str, wanted: budget.Budget, take_back: Callable[[], None]) -> None:
        """Apply a budget; if there is no room, again once what ended is taken back.

        What others have of it on loan is called in first. The kernel counts a removed
        group for a moment. When the groups above can be lowered, it no longer does.

        :param take_back: lowers them
        :raises CgroupError: if the kernel does not admit it
        """
        self.call_in(wanted, besides=group)
        try:
            self._groups.apply(group, wanted)
        except errors.KernelRefusalError as exc:
            if exc.errno != errno.EINVAL:
                raise
            take_back()
            self.call_in(wanted, besides=group)
            self._groups.apply(group, wanted)

    def forget(self, group: str) -> None:
        """Forget the loan of a container that has another budget now, or none."""
        self._book.forget(group)

    def gave(self, group: str, resident: shrinking.Resident) -> None:
        """Remember a container that was given all of its reservation."""
        self._shrunk.gave(group, resident)

    def keeps(self, group: str, resident: shrinking.Resident) -> bool:
        """Return whether a container has a loan that has not ended, and no more.

        Or whether it is shrunk for one, as it may be.
        """
        with self.turn():
            loan = self._made(group)
            keeps = (not loan.has_ended and loan.own == resident.own if loan is not None else
                     self._shrunk.keeps(group, resident, self._backs))
            if keeps:
                self._shrunk.know(group, resident)
            return keeps

    def _backs(self, shrink: shrinks.Shrink) -> bool:
        """Return whether somebody has what was given up, and may have it."""
        try:
            loan = self._made(shrink.borrower) if shrink.drawn else None
        except errors.MissingControlFileError:
            return False
        return loan is not None and not loan.has_ended

    def make_whole(self, group: str) -> bool:
        """Give a container its reservation again if it is shrunk; return whether it was.

        The borrower keeps the rest of its loan, and others stay shrunk for that.

        :raises CgroupError: if the kernel refuses
        """
        with self.turn():
            shrink = self._shrunk.of(group)
            if shrink is None:
                return False
            if self._lower_loan(shrink):
                self._shrunk.restore(shrink)
            elif self._try_to_take_back(shrink.borrower):
                self._end([shrink.borrower])
            if self._shrunk.of(group) is not None:
                self.call_in(shrink.own, besides=group)
                self._groups.apply(group, shrink.own)
                self._shrunk.forget(group)
            return True

    def _lower_loan(self, shrink: shrinks.Shrink) -> bool:
        """Take from a borrower what one gave up for it; return whether it has a loan still.

        If so, what it could have used of that is waited for.
        """
        try:
            loan = self._made(shrink.borrower)
            if loan is None or loan.has_ended:
                return False
            missing = self._missing(shrink)
            less = budget.lowered(loan.whole, missing, loan.own)
            if less == loan.own:
                return False
            if less != loan.whole:
                # Whoever finds it so, cut off, ends the loan.
                self._shrunk.not_drawn(shrink)
                self._book.note(dataclasses.replace(loan, whole=less))
                self._groups.insist(loan.group, less)
                time.sleep(loan.own.period_us / 1e6)
        except (errors.CgroupError, OSError) as exc:
            LOG.warning('What /%s has on loan could not be lowered: %s', shrink.borrower, exc)
            return False
        return True

    def settle(self) -> None:
        """Give those their reservation again who are shrunk for no loan any more.

        And those whose room is free by now.
        """
        with self.turn():
            borrowers = {shrink.borrower for shrink in self._shrunk.all()
                         if not self._backs(shrink)}
            self._settle(borrowers)
            self._return_what_is_free()

    def _return_what_is_free(self) -> None:
        """Give those their reservation again who need not be shrunk, and leave the loans."""
        for shrink in sorted(self._shrunk.all(), key=lambda each: (max(each.freed), each.group)):
            with contextlib.suppress(errors.MissingControlFileError):
                if self._shrunk.of(shrink.group) and not any(self._missing(shrink)):
                    self._shrunk.restore(shrink)

    def _settle(self, borrowers: Collection[str]) -> None:
        """End the loans of some, and give those their reservation again who were shrunk."""
        self._end([borrower for borrower in sorted(borrowers)
                   if self._try_to_take_back(borrower)])

    def shrunk(self) -> Mapping[int, shrinks.Shrink]:
        """Return who is shrunk, by libvirt's id."""
        with self.turn():
            return self._shrunk.by_number()

    def forget_ended(self) -> None:
        """Forget the loans of containers that have ended, and what was given back."""
        with self.turn():
            for loan in list(self._book):
                if loan.returned_s is None:
                    if not self._groups.exists(loan.group):
                        # It may have used it in its last period.
                        self._note_returned(loan)
                elif not loan.cooling_s:
                    self.forget(loan.group)
            self._shrunk.forget_ended()

    def without_loan(self, group: str | None, held: Sequence[int]) -> Sequence[int]:
        """Return what a container holds but for a loan, or for what it gave up, by pCPU."""
        loan = self._book.of(group) if group else None
        if loan is not None and not loan.has_ended and tuple(held) == loan.whole.bandwidths:
            return loan.own.bandwidths
        shrink = self._shrunk.of(group) if group else None
        if shrink is not None and self._backs(shrink):
            return shrink.own.bandwidths
        return held
