# SPDX-License-Identifier: Apache-2.0
"""Budgets of containers together with those of the groups above them.

The kernel wants every group to fit its parent. Those above a container that
have a budget are raised from the top down before the container gets its own,
and lowered to what their children hold from the bottom up when it has gone:
what they keep is missing elsewhere.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import threading
import time

from oslo_log import log as logging

from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup.dialect import Dialect

LOG = logging.getLogger(__name__)

# The kernel counts a removed group until its last reference has gone.
_TAKE_BACK_TRIES = 40
_TAKE_BACK_PAUSE_S = 0.05


class Hierarchy:
    """Applies and takes back budgets.

    Its writer is the only one below the groups that it raises; one lock makes
    the sums and the writes that follow from them one step.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._tree = dialect.tree
        self._lock = threading.Lock()

    def apply(self, group: str, wanted: budget.Budget) -> None:
        """Give a container's group its budget, and raise those above it.

        :raises MissingControlFileError: if a group or its files are not there
        :raises KernelRefusalError: if the kernel does not admit it; everything is
            then as before
        """
        with self._lock:
            before = self._dialect.read(group)
            try:
                too_much = self._raise_ancestors(group, wanted)
                self._dialect.give(group, wanted)
                if too_much:
                    self._lower_ancestors(group)
            except errors.CgroupError:
                self._restore(group, before)
                self._lower_ancestors(group)
                raise

    def insist(self, group: str, wanted: budget.Budget) -> None:
        """Apply a budget, and once more where the kernel counts what has just ended.

        :raises CgroupError: as :meth:`apply` does
        """
        try:
            self.apply(group, wanted)
        except errors.KernelRefusalError:
            time.sleep(_TAKE_BACK_PAUSE_S)
            self.apply(group, wanted)

    def _restore(self, group: str, before: budget.Budget) -> None:
        """Give a running container back what it had.

        A change takes up to three writes, each of which may be refused. What
        is above still holds the larger budget, so there is room for the old.
        """
        try:
            if any(before.runtimes_us) and not self.holds(group, before):
                self._dialect.give(group, before)
        except errors.CgroupError as exc:
            LOG.error('/%s could not be given back its budget: %s', group, exc)

    def own(self, group: str) -> None:
        """Keep a container's root from the limits of its group and of those above.

        :raises KernelRefusalError: if this process may not
        """
        for part in (group, *ancestors(group)):
            self._tree.own(part)

    def close(self, top: str) -> None:
        """Give a group that containers are put below a budget of its own.

        Without one, containers would have real-time tasks before they have a
        reservation, see rt-init.c.

        :raises KernelRefusalError: if real-time tasks run there already
        """
        with self._lock:
            if not self._dialect.bounded(top):
                self._dialect.write(top, self._needed(top, {}))

    @property
    def one_runtime(self) -> bool:
        """Whether a group has the same runtime on all pCPUs on which it has any."""
        return self._dialect.one_runtime

    def alike(self, amounts: Sequence[int], has: budget.Budget) -> Sequence[int]:
        """Return by how much a budget can change where it is to change by so much.

        :param amounts: by pCPU; where the kernel takes one runtime for several pCPUs,
            the largest on any of them
        """
        return budget.levelled(amounts, has.pcpus) if self.one_runtime else amounts

    def exists(self, group: str) -> bool:
        """Return whether there is such a group."""
        return self._tree.exists(group)

    def holds(self, group: str, wanted: budget.Budget) -> bool:
        """Return whether a group has exactly this budget."""
        return self.held(group) == wanted

    def held(self, group: str) -> budget.Budget:
        """Return what a group has."""
        return self._dialect.read(group)

    def held_below(self, tops: Iterable[str], besides: str) -> list[int]:
        """Return what is taken from some groups, by pCPU.

        :param besides: the group of a container that is not counted
        """
        total = [-has for has in self._dialect.read(besides).bandwidths]
        for top in tops:
            for child in bounded_below(self._dialect, top):
                with contextlib.suppress(errors.MissingControlFileError):
                    total = [t + b for t, b in zip(
                        total, self._dialect.read(child).bandwidths, strict=True)]
        return total

    def take_back(self, group: str) -> None:
        """Lower the groups above a container that has ended.

        What cannot be taken back within two seconds, because the container's
        group is still there or the kernel still counts it, is logged and left
        to the next time.
        """
        for _ in range(_TAKE_BACK_TRIES):
            with self._lock:
                refusal = self._lower_ancestors(group)
            if refusal is None and not self._tree.exists(group):
                return
            time.sleep(_TAKE_BACK_PAUSE_S)
        LOG.warning('Not all runtime above /%s could be taken back yet: %s',
                    group, refusal or 'the group is still there')

    def _raise_ancestors(self, group: str, wanted: budget.Budget) -> bool:
        """Write every group above from the top down, if it holds too little.

        What each needs is summed from the bottom up first.

        :returns: whether one of them holds too much, which cannot be taken
            back before the container's group has its budget
        """
        needs: dict[str, budget.Budget] = {}
        below = {group: wanted}
        for ancestor in self._bounding(group):
            needs[ancestor] = self._needed(ancestor, below)
            below = {ancestor: needs[ancestor]}
        too_much = False
        for ancestor, needed in reversed(needs.items()):
            held = self._dialect.read(ancestor)
            target = budget.Budget(held.period_us, tuple(
                map(max, held.runtimes_us, needed.runtimes_us)))
            if target != held:
                self._dialect.write(ancestor, target)
            too_much |= target != needed
        return too_much

    def _lower_ancestors(self, group: str) -> errors.KernelRefusalError | None:
        """Write every group above from the bottom up, if it holds too much."""
        for ancestor in ancestors(group):
            try:
                if not self._dialect.bounded(ancestor):
                    continue
                target = self._needed(ancestor, {})
                if target != self._dialect.read(ancestor):
                    self._dialect.write(ancestor, target)
            except errors.MissingControlFileError:
                continue
            except errors.KernelRefusalError as exc:
                return exc
        return None

    def _needed(self, ancestor: str,
                instead: Mapping[str, budget.Budget]) -> budget.Budget:
        """Return the least budget of a group that holds its children's.

        :param instead: budgets to count in place of those that children have
        """
        total = [0] * self._dialect.count
        for child in {*bounded_below(self._dialect, ancestor), *instead}:
            try:
                held = instead.get(child) or self._dialect.read(child)
            except errors.MissingControlFileError:
                continue
            total = [t + b for t, b in zip(total, held.bandwidths,
                                           strict=True)]
        return self._dialect.covering(total, self._dialect.read(ancestor))

    def _bounding(self, group: str) -> list[str]:
        """Return the groups above that have a budget, the nearest first."""
        return [ancestor for ancestor in ancestors(group)
                if self._dialect.bounded(ancestor)]


def bounded_below(dialect: Dialect, group: str) -> Iterator[str]:
    """Yield the groups whose budgets are taken from a group's."""
    # No recursion: a container nests its own as deep as it likes.
    parents = [group]
    while parents:
        for child in dialect.tree.children(parents.pop()):
            with contextlib.suppress(errors.MissingControlFileError):
                if dialect.bounded(child):
                    yield child
                else:
                    parents.append(child)


def ancestors(group: str) -> list[str]:
    """Return the groups above a group, the nearest first, the root left out."""
    parts = group.split('/')
    return ['/'.join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
