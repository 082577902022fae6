# SPDX-License-Identifier: Apache-2.0
"""What containers have on loan: bandwidth that nobody claims at present, for a while.

A loan is no reservation. It is in the kernel alone, ends by itself, and is called in when
another server needs the room. What is lent is written down first, so that whoever finds a
budget that is larger than its server's reservation knows why; a machine that boots finds
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import time

from oslo_log import log as logging

from nova_rt.virt import notebook
from nova_rt.virt.cgroup import budget

LOG = logging.getLogger(__name__)

FOLDER = pathlib.Path('/run/nova-rt/loans')
# What is noted for longer is from before another boot.
LONGEST_S = 24 * 3600.0


@dataclasses.dataclass(frozen=True, slots=True)
class Loan:
    """What a container has for a while.

    :ivar group: its control group
    :ivar own: its budget by its reservation
    :ivar whole: its budget with the loan
    :ivar until_s: when the loan ends, by CLOCK_MONOTONIC
    :ivar returned_s: when it was given back; None before
    """

    group: str
    own: budget.Budget
    whole: budget.Budget
    until_s: float
    returned_s: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is time to give it back."""
        now_s = time.monotonic()
        return now_s >= self.until_s or self.until_s > now_s + LONGEST_S

    @property
    def cooling_s(self) -> float:
        """For how many seconds nobody else may have what was lent.

        The borrower may have used it already in a period that has not ended: for as long
        as its deadline is to come, the kernel could not serve both (the zero-lag time).
        """
        if self.returned_s is None:
            return 0.0
        return cooling_s(self.returned_s, self.whole.period_us)

    @property
    def lent(self) -> tuple[int, ...]:
        """By pCPU, the bandwidth that is lent."""
        return tuple(whole - own for whole, own in zip(
            self.whole.bandwidths, self.own.bandwidths, strict=True))


class Loans:
    """The loans of this machine, a file for each.

    :param folder: on a file system that a boot empties; :data:`FOLDER` by default
    :param count: of the host's pCPUs, to skip what was noted for another; None for any
    """

    def __init__(self, folder: pathlib.Path | None = None, count: int | None = None) -> None:
        self._count = count
        self._folder = FOLDER if folder is None else folder
        self._notes = notebook.Notebook(self._folder, self._read)

    @property
    def folder(self) -> pathlib.Path:
        """Where they are written down."""
        return self._folder

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Keep other processes from lending and calling in meanwhile.

        The first turn since the machine has booted makes the folder, so that nobody lends
        beside it. Where that is not possible, nothing can be lent, either.
        """
        with contextlib.suppress(OSError):
            self.make_folder()
        if not self._folder.is_dir():
            yield
            return
        # The folder itself, as nothing might be written to a full one.
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def make_folder(self) -> None:
        """Have a place to write to.

        :raises OSError: if that is not possible
        """
        self._folder.mkdir(parents=True, exist_ok=True)

    def of(self, group: str) -> Loan | None:
        """Return what a group has on loan, None if nothing."""
        return self._notes.of(group)

    def __iter__(self) -> Iterator[Loan]:
        """Yield all loans."""
        return iter(self._notes)

    def note(self, loan: Loan) -> None:
        """Write a loan down, before it is made.

        :raises OSError: if that is not possible
        """
        self._notes.write(loan.group, {
            'group': loan.group, 'own': told_of(loan.own), 'whole': told_of(loan.whole),
            'until_s': loan.until_s, 'returned_s': loan.returned_s})

    def forget(self, group: str) -> None:
        """Forget a loan that has been given back; without one, do nothing."""
        self._notes.forget(group)

    def _read(self, path: pathlib.Path) -> Loan | None:
        try:
            told = json.loads(path.read_text())
            returned_s = told['returned_s']
            own, whole = budgets_in(told, ('own', 'whole'), self._count)
            return Loan(told['group'], own, whole, float(told['until_s']),
                        None if returned_s is None else float(returned_s))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError) as exc:
            # Without it, the container is given what it holds, no more.
            LOG.warning('The loan in %s cannot be read: %s', path, exc)
            return None


def cooling_s(since_s: float, period_us: int) -> float:
    """Return what is left of a period; nothing of what another boot was to see."""
    now_s = time.monotonic()
    if since_s > now_s:
        return 0.0
    return max(0.0, since_s + period_us / 1e6 - now_s)


def told_of(held: budget.Budget) -> Mapping[str, object]:
    """Return what is written down of a budget.

    Not by dataclasses.asdict(), which takes longer than to write the file.
    """
    return {'period_us': held.period_us, 'runtimes_us': held.runtimes_us}


def budgets_in(told: dict[str, dict[str, object]], names: tuple[str, str],
               count: int | None) -> tuple[budget.Budget, budget.Budget]:
    """Return two budgets of one group that were written down.

    :param count: of pCPUs, None for any
    :raises TypeError, ValueError, LookupError: if they are none, or do not fit
    """
    one, other = (_budget_in(told[name]) for name in names)
    if (one.period_us != other.period_us or len(one.runtimes_us) != len(other.runtimes_us)
            or count not in (None, len(one.runtimes_us))):
        raise ValueError('they do not fit each other, or the host')
    return one, other


def _budget_in(told: dict[str, object]) -> budget.Budget:
    """Return a budget that was written down.

    :raises TypeError, LookupError: if it is none
    """
    period_us, runtimes_us = told['period_us'], told['runtimes_us']
    if (not isinstance(period_us, int) or period_us <= 0
            or not isinstance(runtimes_us, list)):
        raise TypeError('it is no budget')
    return budget.Budget(period_us, tuple(map(int, runtimes_us)))
