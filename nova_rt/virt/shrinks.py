# SPDX-License-Identifier: Apache-2.0
"""What elastic containers have given up to more critical ones, for a while.

It is the other side of a loan, and written down beside it, before it is done: whoever finds a
budget that is smaller than its server's reservation knows why, and for how long.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import json
import pathlib

from oslo_log import log as logging

from nova_rt.virt import loans
from nova_rt.virt import notebook
from nova_rt.virt.cgroup import budget

LOG = logging.getLogger(__name__)

# In the folder of loans, whose own files begin with no dot.
_SUBFOLDER = '.shrunk'


@dataclasses.dataclass(frozen=True, slots=True)
class Shrink:
    """What a container has less for a while.

    :ivar group: its control group
    :ivar own: its budget by its reservation
    :ivar less: its budget meanwhile
    :ivar borrower: the control group of the container that it is for, for as long as that
        has a loan
    :ivar since_s: since when, by CLOCK_MONOTONIC; None until it is done
    :ivar drawn: whether the borrower has it by now
    """

    group: str
    own: budget.Budget
    less: budget.Budget
    borrower: str
    since_s: float | None = None
    drawn: bool = False

    @property
    def cooling_s(self) -> float:
        """For how many seconds nobody else may have what was given up.

        As with a loan that was given back (:attr:`nova_rt.virt.loans.Loan.cooling_s`).
        """
        if self.since_s is None:
            return self.own.period_us / 1e6
        return loans.cooling_s(self.since_s, self.own.period_us)

    @property
    def freed(self) -> tuple[int, ...]:
        """By pCPU, the bandwidth that is given up."""
        return tuple(own - less for own, less in zip(
            self.own.bandwidths, self.less.bandwidths, strict=True))


class Shrinks:
    """The shrunk containers of this machine, a file for each.

    :param folder: that of the loans
    :param count: of the host's pCPUs, to skip what was noted for another; None for any
    """

    def __init__(self, folder: pathlib.Path, count: int | None = None) -> None:
        self._folder = folder / _SUBFOLDER
        self._notes = notebook.Notebook(self._folder, lambda path: _read(path, count))

    def of(self, group: str) -> Shrink | None:
        """Return what a group has given up, None if nothing."""
        return self._notes.of(group)

    def __iter__(self) -> Iterator[Shrink]:
        """Yield all."""
        return iter(self._notes)

    def note(self, shrink: Shrink) -> None:
        """Write one down, before it is done.

        :raises OSError: if that is not possible
        """
        self._notes.write(shrink.group, {
            'group': shrink.group, 'own': loans.told_of(shrink.own),
            'less': loans.told_of(shrink.less), 'borrower': shrink.borrower,
            'since_s': shrink.since_s, 'drawn': shrink.drawn})

    def forget(self, group: str) -> None:
        """Forget one that is over; without one, do nothing."""
        self._notes.forget(group)


def _read(path: pathlib.Path, count: int | None) -> Shrink | None:
    try:
        told = json.loads(path.read_text())
        since_s = told['since_s']
        own, less = loans.budgets_in(told, ('own', 'less'), count)
        return Shrink(
            told['group'], own, less, told['borrower'], None if since_s is None else float(since_s),
            told['drawn'] is True)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as exc:
        # Without it, the container is given what it holds.
        LOG.warning('What was shrunk by %s cannot be read: %s', path, exc)
        return None
