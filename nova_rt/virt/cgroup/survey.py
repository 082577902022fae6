# SPDX-License-Identifier: Apache-2.0
"""Reads all budgets below some groups: whose they are, and which are nobody's."""

from collections.abc import Iterable
from collections.abc import Mapping

from nova_rt import drifts
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup.dialect import Dialect


def survey(dialect: Dialect, tops: Iterable[str],
           containers: Mapping[str, str]) -> drifts.Kernel:
    """Return what the kernel holds below some groups.

    :param tops: the groups that containers are put below
    :param containers: by server, the groups of those that run
    """
    held = {}
    for server, group in containers.items():
        own = _read(dialect, group)
        if own is not None:
            held[server] = own.bandwidths
    above = {ancestor for group in containers.values()
             for ancestor in hierarchy.ancestors(group)}
    above.update(top for top in tops if dialect.tree.exists(top))
    strangers = {}
    kept = [0] * dialect.count
    for group in sorted(above):
        below = set(dialect.tree.children(group))
        kept = _add(kept, _kept(dialect, group))
        for child in below - above - set(containers.values()):
            budget_below = _read(dialect, child)
            if budget_below is not None and any(budget_below.runtimes_us):
                strangers[child] = budget_below.bandwidths
    return drifts.Kernel(held, strangers, tuple(kept))


def _kept(dialect: Dialect, group: str) -> Iterable[int]:
    """Return what a group has beyond the least that holds those below it."""
    own = _read(dialect, group)
    if own is None:
        return [0] * dialect.count
    total = [0] * dialect.count
    for child in hierarchy.bounded_below(dialect, group):
        budget_below = _read(dialect, child)
        if budget_below is not None:
            total = _add(total, budget_below.bandwidths)
    least = dialect.covering(total, own)
    return [max(0, have - need) for have, need in zip(
        own.bandwidths, least.bandwidths, strict=True)]


def _read(dialect: Dialect, group: str) -> budget.Budget | None:
    try:
        return dialect.read(group)
    except errors.MissingControlFileError:
        return None


def _add(left: Iterable[int], right: Iterable[int]) -> list[int]:
    return [a + b for a, b in zip(left, right, strict=True)]
