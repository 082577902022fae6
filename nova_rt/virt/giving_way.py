# SPDX-License-Identifier: Apache-2.0
"""Shrinks elastic containers for more critical ones, and gives them back what they had.

What is given up is nobody's before the one that gave it up could have used the last of it
(the zero-lag time), and is given back when the borrower has neither it nor such a time left.
So the kernel never holds more on a pCPU than it did before, and the ledger need not know.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import time

from oslo_log import log as logging

from nova_rt.virt import shrinking
from nova_rt.virt import shrinks
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy

LOG = logging.getLogger(__name__)


class GivingWay:
    """The shrunk containers of a host. Whoever calls holds the turn of its loans.

    :param groups: the containers' budgets
    :param book: where it is written down
    """

    def __init__(self, groups: hierarchy.Hierarchy, book: shrinks.Shrinks) -> None:
        self._groups = groups
        self._book = book
        self._residents: dict[str, shrinking.Resident] = {}
        # Until when those are left alone who missed deadlines while they were shrunk.
        self._spared_s: dict[str, float] = {}

    def know(self, group: str, resident: shrinking.Resident) -> None:
        """Remember what a container is, whatever it has at present."""
        self._residents[group] = resident

    def gave(self, group: str, resident: shrinking.Resident) -> None:
        """Remember a container that was given all of its reservation."""
        self.know(group, resident)
        self._book.forget(group)

    def forget(self, group: str) -> None:
        """Forget what a container gave up, which has it again."""
        self._book.forget(group)

    def spare(self, group: str, until_s: float) -> None:
        """Leave a container alone until then."""
        self._spared_s[group] = until_s

    def lesser(self, group: str) -> Collection[str] | None:
        """Return the containers that are known to be less critical.

        None if nobody gives way to this one.
        """
        misser = self._residents.get(group)
        if misser is None or misser.own.period_us > shrinking.LONGEST_PERIOD_US:
            return None
        return [other for other, each in self._residents.items()
                if each.rank < misser.rank and each.terms.known
                and each.own.period_us <= shrinking.LONGEST_PERIOD_US]

    def asked(self, group: str, lacks: Sequence[int],
              borrowers: Collection[str] = ()) -> Mapping[str, budget.Budget]:
        """Return what is to be left to those who give up something for a container.

        :param lacks: by pCPU, the bandwidth that it lacks
        :param borrowers: those that would have their reservation if they gave back a loan
        """
        now_s = time.monotonic()
        others = {other: each for other, each in self._residents.items()
                  if other != group and now_s >= self._spared_s.get(other, 0.0)
                  and (other in borrowers or self._is_whole(other, each))}

        def choose(lacks: Sequence[int]) -> dict[str, budget.Budget]:
            return dict(shrinking.chosen(
                lacks, self._residents[group], others, self._groups.alike))

        chosen = choose(lacks)
        if not self._groups.one_runtime:
            return chosen
        # What one of its pCPUs lacks still, it cannot have on the others, either.
        short = lacks
        for other, less in chosen.items():
            short = shrinking.still_lacking(short, others[other], less)
        beyond = max(short)
        return choose([max(0, lack - beyond) for lack in lacks]) if beyond else chosen

    def begin(self, group: str, asked: Mapping[str, budget.Budget]) -> bool:
        """Shrink others for a container, and wait until it may have that.

        :param asked: what is left to whom
        :returns: whether anybody gave up anything
        :raises CgroupError: if the kernel refuses
        :raises OSError: if it cannot be written down
        """
        gave_up = []
        for other, less in asked.items():
            # One that has just ended keeps others from nothing.
            with contextlib.suppress(errors.MissingControlFileError):
                gave_up.append(self._shrink(other, less, group))
        time.sleep(max((each.cooling_s for each in gave_up), default=0.0))
        return bool(gave_up)

    def _is_whole(self, group: str, resident: shrinking.Resident) -> bool:
        """Return whether a container has its reservation, no less and no more."""
        try:
            return self._groups.holds(group, resident.own)
        except errors.MissingControlFileError:
            return False

    def _shrink(self, group: str, less: budget.Budget,
                borrower: str) -> shrinks.Shrink:
        shrink = shrinks.Shrink(group, self._residents[group].own, less, borrower)
        # A service that is killed in between leaves one that was never done.
        self._book.note(shrink)
        try:
            self._groups.apply(group, less)
        except errors.CgroupError:
            self._book.forget(group)
            raise
        done = dataclasses.replace(shrink, since_s=time.monotonic())
        self._book.note(done)
        LOG.info('Shrunk /%s from %s to %s µs every %d µs for /%s', group,
                 shrink.own.runtimes_us, less.runtimes_us, less.period_us, borrower)
        return done

    def drawn(self, borrower: str) -> None:
        """Note that a borrower has what was given up for it."""
        for shrink in self.victims(borrower):
            if not shrink.drawn:
                self._book.note(dataclasses.replace(shrink, drawn=True))

    def not_drawn(self, shrink: shrinks.Shrink) -> None:
        """Note that the borrower is to have no more what one has given up for it.

        :raises OSError: if that is not possible
        """
        self._book.note(dataclasses.replace(shrink, drawn=False))

    def undo(self, borrower: str) -> None:
        """Give back what was given up for a borrower that has not got it."""
        for shrink in self.victims(borrower):
            if not shrink.drawn:
                self.restore(shrink)

    def victims(self, borrower: str, besides: str | None = None) -> list[shrinks.Shrink]:
        """Return who was shrunk for a borrower."""
        return [shrink for shrink in self._book
                if shrink.borrower == borrower and shrink.group != besides]

    def end(self, borrower: str, besides: str | None = None) -> None:
        """Give back what was given up for a borrower that has it no more."""
        for shrink in self.victims(borrower, besides):
            self.restore(shrink)

    def restore(self, shrink: shrinks.Shrink) -> None:
        """Give a container its reservation again; what the kernel refuses is logged."""
        try:
            if self._groups.holds(shrink.group, shrink.less):
                self._groups.insist(shrink.group, shrink.own)
                LOG.info('/%s has its reservation again', shrink.group)
        except errors.MissingControlFileError:
            LOG.debug('/%s has ended.', shrink.group)
        except errors.CgroupError as exc:
            LOG.warning('/%s could not be given its reservation again, which the periodic '
                        'update will try: %s', shrink.group, exc)
            return
        self._book.forget(shrink.group)

    def of(self, group: str) -> shrinks.Shrink | None:
        """Return what a container has given up, None if nothing."""
        shrink = self._book.of(group)
        with contextlib.suppress(errors.MissingControlFileError):
            if shrink is not None and self._groups.holds(group, shrink.less):
                return shrink
        return None

    def all(self) -> list[shrinks.Shrink]:
        """Return all that is written down."""
        return list(self._book)

    def by_number(self) -> Mapping[int, shrinks.Shrink]:
        """Return what containers have given up, by libvirt's id of each."""
        return {self._residents[shrink.group].number: shrink for shrink in self._book
                if shrink.group in self._residents and self.of(shrink.group)}

    def keeps(self, group: str, resident: shrinking.Resident,
              backs: Callable[[shrinks.Shrink], bool]) -> bool:
        """Return whether a container is shrunk as it may be.

        :param backs: returns whether somebody has what was given up, and may have it
        """
        shrink = self.of(group)
        if shrink is None or shrink.own != resident.own or not backs(shrink):
            return False
        borrower = self._residents.get(shrink.borrower)
        return (resident.gives() and (borrower is None or resident.rank < borrower.rank)
                and all(less >= least for less, least in zip(
                    shrink.less.runtimes_us, resident.least.runtimes_us, strict=True)))

    def kept_from(self, group: str, lent_by: Mapping[str, Sequence[int]],
                  count: int) -> Sequence[int]:
        """Return by pCPU what others gave up and this container is not to have now.

        :param lent_by: by borrower, what it has, or could still be using
        :param count: of pCPUs
        """
        kept = [0] * count
        by_borrower: dict[str, list[int]] = {}
        for shrink in self._book:
            if shrink.group == group or self.of(shrink.group) is None:
                continue
            if shrink.cooling_s:
                kept = _add(kept, shrink.freed)
            elif shrink.borrower != group:
                by_borrower[shrink.borrower] = _add(
                    by_borrower.get(shrink.borrower, [0] * count), shrink.freed)
        for borrower, freed in by_borrower.items():
            lent = lent_by.get(borrower, [0] * count)
            kept = _add(kept, [max(0, f - has) for f, has in zip(freed, lent, strict=True)])
        return kept

    def forget_ended(self) -> None:
        """Forget the containers that have ended, and what was never done."""
        for shrink in list(self._book):
            if self.of(shrink.group) is None:
                self._book.forget(shrink.group)
        for group in list(self._residents):
            if not self._groups.exists(group):
                del self._residents[group]
                self._spared_s.pop(group, None)


def _add(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(left, right, strict=True)]
