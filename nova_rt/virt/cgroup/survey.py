# SPDX-License-Identifier: Apache-2.0
"""Looks at all budgets below some groups: whose they are, and what is nobody's."""

from collections.abc import Iterable
from collections.abc import Mapping

from nova_rt import drifts
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import tree as cgroup_tree


def survey(spoken: dialect.Dialect, tops: Iterable[str],
           containers: Mapping[str, str]) -> drifts.Kernel:
    """Return what the kernel holds below some groups.

    :param tops: the groups that containers are put below
    :param containers: by server, the groups of those that run
    """
    held = {}
    for server, group in containers.items():
        found = _read(spoken, group)
        if found is not None:
            held[server] = found.bandwidths
    above = {ancestor for group in containers.values()
             for ancestor in hierarchy.ancestors(group)}
    above.update(top for top in tops if spoken.tree.exists(top))
    others = {}
    kept = [0] * spoken.count
    for group in sorted(above):
        below = list(spoken.tree.children(group))
        kept = _add(kept, _kept(spoken, group))
        for child in set(below) - above - set(containers.values()):
            found = _read(spoken, child)
            if found is not None and any(found.runtimes_us):
                others[child] = found.bandwidths
    return drifts.Kernel(held, others, tuple(kept))


def _kept(spoken: dialect.Dialect, group: str) -> Iterable[int]:
    """Return what a group has beyond the least that holds those below it."""
    has = _read(spoken, group)
    if has is None:
        return [0] * spoken.count
    total: list[int] = [0] * spoken.count
    for child in hierarchy.bounded_below(spoken, group):
        found = _read(spoken, child)
        if found is not None:
            total = _add(total, found.bandwidths)
    least = budget.covering(has.period_us, total)
    return [max(0, h - n) for h, n in zip(
        has.bandwidths, least.bandwidths, strict=True)]


def _read(spoken: dialect.Dialect, group: str) -> budget.Budget | None:
    try:
        return spoken.read(group)
    except cgroup_tree.MissingControlFileError:
        return None


def _add(one: Iterable[int], other: Iterable[int]) -> list[int]:
    return [a + b for a, b in zip(one, other, strict=True)]
