# SPDX-License-Identifier: Apache-2.0
"""Hosts for the tests of moves, and what judges plans without knowing how they are made."""

from collections.abc import Mapping
import dataclasses

from hypothesis import strategies as st

from nova_rt.defrag.goal import Goal
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Server

WHOLE = 20


def layout(capacity, servers, others=()):
    """Return a layout of servers by name, each a bandwidth and its pCPUs.

    :param others: bandwidth by pCPU of what cannot be moved
    """
    left = list(capacity)
    for pcpu, bandwidth in enumerate(others):
        left[pcpu] -= bandwidth
    for bandwidth, pcpus in servers.values():
        for pcpu in pcpus:
            left[pcpu] -= bandwidth
    return Layout(tuple(capacity), tuple(left), {
        name: Server(bandwidth, frozenset(pcpus))
        for name, (bandwidth, pcpus) in servers.items()})


@dataclasses.dataclass
class Host:
    """What a kernel would hold: by pCPU, which server has how much there."""

    limit: list[int]
    has: list[dict[str, int]]

    @classmethod
    def of(cls, start):
        has = [{name: server.bandwidth for name, server in start.servers.items()
                if pcpu in server.pcpus} for pcpu in range(len(start.left))]
        limit = [left + sum(here.values()) for left, here in zip(start.left, has, strict=True)]
        return cls(limit, has)

    def free(self, pcpu):
        return self.limit[pcpu] - sum(self.has[pcpu].values())

    def make(self, move):
        """Claim the new pCPU while the old one is held, then release that."""
        assert move.server not in self.has[move.target]
        self.has[move.target][move.server] = self.has[move.source][move.server]
        assert move.bandwidth == self.has[move.target][move.server]
        assert self.free(move.target) >= 0
        del self.has[move.source][move.server]


def check(start, goal, moves):
    """Make all moves of a plan, and look whether they meet its goal."""
    host = Host.of(start)
    for move in moves:
        host.make(move)
    enough = [pcpu for pcpu, most in enumerate(start.capacity)
              if most and host.free(pcpu) >= goal.bandwidth]
    assert len(enough) >= goal.pcpus


def true_fewest(start, goal, most):
    """Return the fewest moves, found by trying all; None if there are more than most."""
    sizes = {name: server.bandwidth for name, server in start.servers.items()}
    first = frozenset((name, server.pcpus) for name, server in start.servers.items())
    limit = Host.of(start).limit
    seen, states = {first}, {first}
    for number in range(most + 1):
        following = set()
        for state in states:
            free = list(limit)
            for name, pcpus in state:
                for pcpu in pcpus:
                    free[pcpu] -= sizes[name]
            if goal.pcpus <= sum(free[pcpu] >= goal.bandwidth
                                 for pcpu, cap in enumerate(start.capacity) if cap):
                return number
            following |= _following(state, sizes, free, start.capacity)
        states = following - seen
        seen |= states
    return None


def _following(state, sizes, free, capacity):
    return {state - {(name, pcpus)} | {(name, pcpus - {source} | {target})}
            for name, pcpus in state for source in pcpus for target in range(len(free))
            if capacity[target] and target not in pcpus and free[target] >= sizes[name]}


@st.composite
def tight(draw):
    """A full host of few pCPUs, and a goal that it just does not meet."""
    capacity = draw(st.lists(st.sampled_from((WHOLE, WHOLE, WHOLE - 3, 0)),
                             min_size=2, max_size=4))
    others = [draw(st.sampled_from((0, 0, 2))) if most else 0 for most in capacity]
    servers: Mapping[str, tuple[int, list[int]]] = {}
    for number in range(draw(st.integers(2, 8))):
        bandwidth = draw(st.integers(1, WHOLE // 2))
        left = layout(capacity, servers, others).left
        fits = [pcpu for pcpu, free in enumerate(left) if capacity[pcpu] and free >= bandwidth]
        if fits:
            servers[str(number)] = (bandwidth, draw(st.lists(
                st.sampled_from(fits), min_size=1, max_size=2, unique=True)))
    # The cap may have been lowered since, or a pCPU taken away.
    lowered = [max(0, most - draw(st.sampled_from((0, 0, 0, 0, 4, WHOLE)))) for most in capacity]
    start = layout(lowered, servers, others)
    pcpus = draw(st.integers(1, 2))
    free = sorted((start.left[pcpu] for pcpu in start.usable), reverse=True)
    most = free[pcpus - 1] if len(free) >= pcpus else 0
    return start, Goal(max(1, most + draw(st.integers(1, 4))), pcpus)
