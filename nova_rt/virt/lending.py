# SPDX-License-Identifier: Apache-2.0
"""Lends containers what nobody claims, and calls it in where somebody does.

What is free may not be enough for a critical container. Less critical ones that are elastic
are then shrunk first (:mod:`nova_rt.virt.giving_way`).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import errno
import threading
import time

from oslo_log import log as logging

from nova_rt import shares
from nova_rt.virt import giving_way
from nova_rt.virt import loans
from nova_rt.virt import returning
from nova_rt.virt import room
from nova_rt.virt import settling
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
        count = len(empty.capacity)
        book = loans.Loans(book.folder, count)
        self._groups = groups
        self._empty = empty
        self._book = book
        self._loans = returning.Returning(groups, book)
        self._shrunk = giving_way.GivingWay(groups, shrinks.Shrinks(book.folder, count))
        self._room = room.Room(groups, tops, empty, book, self._shrunk)
        self._settling = settling.Settling(
            groups, book, self._loans, self._shrunk, self._room)
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
            if not all(each.drawn for each in self._shrunk.victims(group)):
                # What was cut off, or could not be taken back.
                self._settling.settle_with([group])
            if self._loans.made(group) is None:
                # What was cut off may have left it with an earlier loan, which is not its own.
                self._loans.take_back(group)
            if not self._cool_down(group):
                return {}
            self._lend_free(group, most, until_s)
            if shrink:
                self._lend_more(group, most, until_s)
            self._settling.return_what_is_free()
            loan = self._loans.made(group)
        return _by_pcpu(loan)

    def _cool_down(self, group: str) -> bool:
        """Wait until a container cannot use what it gave back; return whether it cannot.

        Its note, which a new loan replaces, is what keeps others from that. For a long time
        nobody waits, as everybody would wait who starts here.
        """
        cooling_s = self._loans.cooling_s(group)
        if cooling_s > shrinking.LONGEST_PERIOD_US / 1e6:
            return False
        time.sleep(cooling_s)
        return True

    def _lend_free(self, group: str, most: int, until_s: float) -> loans.Loan | None:
        """Lend what is free; return the loan, None if there is nothing to lend."""
        before = self._loans.made(group)
        own = self._groups.held(group) if before is None else before.own
        whole = budget.extended(own, self._room.lendable(group, own, most))
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
            if self._settling.call_in_of([
                    loan.group for loan in self._loans.out() if loan.group in lesser
                    and any(lack and lent for lack, lent in zip(
                        lacks, loan.lent, strict=True))]):
                self._lend_free(group, most, until_s)
                lacks = self._lacking(group, most)
            # Who has something on loan elsewhere can give up something here.
            borrowers = {loan.group for loan in self._loans.out()}
            self._settling.call_in_of(borrowers & self._shrunk.asked(
                group, lacks, borrowers).keys())
            if self._shrunk.begin(group, self._shrunk.asked(group, lacks)):
                self._lend_given_up(group, most, until_s)
        except (errors.CgroupError, OSError) as exc:
            LOG.warning('/%s is lent no more than what is free: %s', group, exc)
            self._shrunk.undo(group)

    def _lacking(self, group: str, most: int) -> list[int]:
        """Return by pCPU how much less a container has on loan than it may have."""
        loan = self._loans.made(group)
        if loan is not None:
            return self._room.lacking(group, loan.own, loan.whole, most)
        held = self._groups.held(group)
        return self._room.lacking(group, held, held, most)

    def _lend_given_up(self, group: str, most: int, until_s: float) -> None:
        """Lend what was given up for a container, or give it back if it has no use for it."""
        before = self._loans.made(group)
        loan = self._lend_free(group, most, until_s)
        if loan is None or (before is not None and loan.whole == before.whole):
            self._shrunk.undo(group)
            return
        try:
            self._shrunk.drawn(group)
        except OSError as exc:
            # Nobody else would know that they may stay shrunk.
            LOG.warning('/%s is lent nothing, as it cannot be written down: %s', group, exc)
            self._settling.settle_with([group])

    def give_back(self, group: str) -> bool:
        """Take back what a container has on loan; return whether it had anything.

        Who was shrunk for it then has its reservation again.

        :raises CgroupError: if the kernel refuses, as it may while it counts what has ended
        """
        with self.turn():
            had = self._loans.take_back(group)
            self._settling.end([group])
            return had

    def loan(self, group: str) -> Mapping[int, int]:
        """Return by pCPU the bandwidth that a container has on loan; empty if it has nothing."""
        with self.turn(), contextlib.suppress(errors.MissingControlFileError):
            return _by_pcpu(self._loans.made(group))
        return {}

    def admit(self, group: str, wanted: budget.Budget, take_back: Callable[[], None]) -> None:
        """Apply a budget; if there is no room, again once what ended is taken back.

        What others have of it on loan is called in first. The kernel counts a removed
        group for a moment. When the groups above can be lowered, it no longer does.

        :param take_back: lowers them
        :raises CgroupError: if the kernel does not admit it
        """
        try:
            self._admit(group, wanted, take_back)
        except errors.CgroupError:
            # It may have been shrunk for one whose loan was called in.
            self._settling.settle()
            raise

    def _admit(self, group: str, wanted: budget.Budget, take_back: Callable[[], None]) -> None:
        self._settling.call_in(wanted, besides=group)
        try:
            self._groups.apply(group, wanted)
        except errors.KernelRefusalError as exc:
            if exc.errno != errno.EINVAL:
                raise
            take_back()
            self._settling.call_in(wanted, besides=group)
            self._groups.apply(group, wanted)

    def left(self, group: str, before: budget.Budget, own: budget.Budget) -> None:
        """Lend nobody what a container had until now, for as long as it may have used it."""
        self._loans.left(group, before, own)

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
            loan = self._loans.made(group)
            if loan is None:
                keeps = self._shrunk.keeps(group, resident, self._settling.backs)
            else:
                keeps = (not loan.has_ended and loan.own == resident.own
                         and self._room.holds(loan))
            if keeps:
                self._shrunk.know(group, resident)
            return keeps

    def make_whole(self, group: str) -> bool:
        """Give a container its reservation again if it is shrunk; return whether it was.

        The borrower keeps the rest of its loan, and others stay shrunk for that.

        :raises CgroupError: if the kernel refuses
        """
        with self.turn():
            return self._settling.make_whole(group)

    def settle(self) -> None:
        """Give those their reservation again who are shrunk for no loan any more.

        And those whose room is free by now.
        """
        with self.turn():
            self._settling.settle()

    def shrunk(self) -> Mapping[int, shrinks.Shrink]:
        """Return who is shrunk, by libvirt's id."""
        with self.turn():
            return self._shrunk.by_number()

    def forget_ended(self) -> None:
        """Forget the loans of containers that have ended, and what was given back."""
        with self.turn():
            self._loans.forget_ended()
            self._shrunk.forget_ended()

    def without_loan(self, group: str | None, held: Sequence[int]) -> Sequence[int]:
        """Return what a container holds but for a loan, or for what it gave up, by pCPU."""
        loan = self._book.of(group) if group else None
        if loan is not None and not loan.has_ended and tuple(held) == loan.whole.bandwidths:
            return loan.own.bandwidths
        shrink = self._backed(group) if group else None
        return held if shrink is None else shrink.own.bandwidths

    def given_up(self, group: str) -> Sequence[int] | None:
        """Return by pCPU what a container has given up to one that has it, None if nothing."""
        with self.turn():
            shrink = self._backed(group)
            return None if shrink is None else shrink.freed

    def _backed(self, group: str) -> shrinks.Shrink | None:
        shrink = self._shrunk.of(group)
        return shrink if shrink is not None and self._settling.backs(shrink) else None


def _by_pcpu(loan: loans.Loan | None) -> Mapping[int, int]:
    return {pcpu: lent for pcpu, lent in enumerate(loan.lent) if lent} if loan else {}
