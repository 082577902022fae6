# SPDX-License-Identifier: Apache-2.0
"""Clouds for the tests of migrations, and what judges plans without knowing how they are made."""

import dataclasses
import heapq
import itertools

from hypothesis import strategies as st

from nova_rt import fitting
from nova_rt import kinds
from nova_rt import ledger
from nova_rt.criticality import Criticality
from nova_rt.defrag import cloud
from nova_rt.defrag.cloud import Cloud
from nova_rt.defrag.layout import Move
from nova_rt.reservation import Reservation
from nova_rt.shares import HostShares

CAP = 996147
MEMORY = 'MEMORY_MB'


def percent(share, vcpus=1):
    return Reservation(share * 1000, 100000, vcpus)


def host(pcpus, guests=(), left=None, cap=CAP, **kwargs):
    """Return a host of guests by name: share, its pCPUs, and more of :class:`cloud.Guest`.

    :param cap: to which that of each pCPU was set when the guests were there
    """
    shares, held = HostShares.empty((CAP,) * pcpus), {}
    for name, (share, chosen, more) in dict(guests).items():
        wanted = percent(share, len(chosen))
        shares = shares.add(wanted, chosen)
        held[name] = cloud.Guest(ledger.Holding(wanted, tuple(chosen)), **more)
    shares = dataclasses.replace(shares, capacity=(cap,) * pcpus)
    return cloud.Host(shares, held, left or {}, **kwargs)


def wanted(share, vcpus, hosts, needs=None):
    return cloud.Wanted(percent(share, vcpus), needs or {}, frozenset(hosts))


class Kernels:
    """What the hosts' kernels and Placement would hold, and who is where."""

    def __init__(self, start):
        self.start = start
        self.held = {name: [{} for _ in each.shares.capacity]
                     for name, each in start.hosts.items()}
        self.other = {}
        self.left = {name: dict(each.left) for name, each in start.hosts.items()}
        self.where, self.guests = {}, {}
        for name, each in start.hosts.items():
            for server, guest in each.guests.items():
                self.where[server], self.guests[server] = name, guest
                for pcpu in guest.holding.pcpus:
                    self.held[name][pcpu][server] = guest.holding.reservation.bandwidth
            self.other[name] = [used - sum(held.values()) for used, held in zip(
                each.shares.used, self.held[name], strict=True)]

    def free(self, name):
        return [cap - other - sum(held.values()) for cap, other, held in zip(
            self.start.hosts[name].shares.capacity, self.other[name], self.held[name],
            strict=True)]

    def make(self, step):
        """Claim what is new while the old is held, then release that."""
        if isinstance(step, cloud.VCPUMove):
            move, there = step.move, self.held[step.host]
            assert self.where[move.server] == step.host
            assert self.guests[move.server].moves
            assert self.start.hosts[step.host].moves
            assert move.server not in there[move.target]
            there[move.target][move.server] = there[move.source][move.server]
            assert self.free(step.host)[move.target] >= 0
            del there[move.source][move.server]
            return
        guest, target = self.guests[step.server], self.start.hosts[step.target]
        source = self.start.hosts[step.source]
        assert self.where[step.server] == step.source != step.target
        assert guest.migrates
        assert target.open
        assert guest.criticality in target.criticalities
        assert source.kind is target.kind is kinds.Kind.MACHINE
        assert source.cell == target.cell
        assert (step.server, step.target) not in self.start.refused
        self._arrive(step, guest)
        for pcpu in self.held[step.source]:
            pcpu.pop(step.server, None)
        freed = guest.needs if guest.frees is None else guest.frees
        for name, amount in freed.items():
            self.left[step.source][name] += amount
        self.where[step.server] = step.target

    def _arrive(self, step, guest):
        """Let the claim choose: worst-fit, the lower pCPU at a tie."""
        need, free = guest.holding.reservation, self.free(step.target)
        chosen = sorted(range(len(free)), key=lambda pcpu: (-free[pcpu], pcpu))[:need.vcpus]
        for pcpu in chosen:
            self.held[step.target][pcpu][step.server] = need.bandwidth
        assert len(chosen) == need.vcpus
        assert min(self.free(step.target)) >= min(0, *free)
        assert all(self.free(step.target)[pcpu] >= 0 for pcpu in chosen)
        for name, amount in guest.needs.items():
            self.left[step.target][name] -= amount
            assert self.left[step.target][name] >= 0


def check(start, goal, steps, name):
    """Make all steps, and look whether the host has what is wanted then."""
    kernels = Kernels(start)
    for step in steps:
        kernels.make(step)
    assert name in goal.hosts
    assert goal.reservation.vcpus <= sum(
        free >= goal.reservation.bandwidth for free in kernels.free(name))
    assert all(kernels.left[name].get(resource, 0) >= amount
               for resource, amount in goal.needs.items())


def true_cheapest(start, goal, limits):
    """Return the least cost, found by trying all steps; None if there is no plan."""
    numbers = itertools.count()
    queue, seen = [(0, next(numbers), 0, 0, start)], {}
    while queue:
        cost, _, steps, migrations, now = heapq.heappop(queue)
        key = _key(now)
        if any(a <= steps and b <= migrations for a, b in seen.get(key, ())):
            continue
        seen.setdefault(key, []).append((steps, migrations))
        if any(goal.fits(now.hosts[name]) for name in goal.hosts):
            return cost
        if steps == limits.steps:
            continue
        for step in _possible(now, migrations < limits.migrations):
            moved = isinstance(step, cloud.Migration)
            heapq.heappush(queue, (cost + step.cost, next(numbers), steps + 1,
                                   migrations + moved, now.after(step)))
    return None


def _key(now):
    return frozenset((server, name, frozenset(guest.holding.pcpus))
                     for name, each in now.hosts.items()
                     for server, guest in each.guests.items())


def _possible(now, migrate):
    for name, each in now.hosts.items():
        for server, guest in each.guests.items():
            need = guest.holding.reservation
            for source, target in itertools.product(
                    guest.holding.pcpus, range(len(each.shares.capacity))):
                if (each.moves and guest.moves and target not in guest.holding.pcpus
                        and each.shares.left[target] >= need.bandwidth):
                    yield cloud.VCPUMove(name, Move(server, source, target, need.bandwidth))
            for other in now.hosts if migrate else ():
                if now.takes(server, name, other) and fitting.shortfall(
                        now.hosts[other].shares, need) is None:
                    yield now.migration(server, name, other)


@st.composite
def small(draw):
    """Two or three hosts of one or two pCPUs, nearly full, and what fits none of them."""
    hosts, number = {}, itertools.count()
    for name in 'abc'[:draw(st.integers(2, 3))]:
        pcpus = draw(st.integers(1, 2))
        guests = _guests(draw, number, pcpus)
        hosts[name] = host(
            pcpus, guests, {MEMORY: _seldom(draw, 9000, 0, 600)},
            _seldom(draw, CAP, CAP * 3 // 4, CAP // 2),
            kind=_seldom(draw, kinds.Kind.MACHINE, kinds.Kind.CONTAINER),
            criticalities=_seldom(draw, frozenset(Criticality), {Criticality.A}),
            moves=_seldom(draw, True, False), open=_seldom(draw, True, False),
            cell=_seldom(draw, '', 'other'))
    refused = draw(st.lists(st.tuples(
        st.sampled_from('0123'), st.sampled_from('abc')), max_size=1))
    among = [name for name in hosts if _seldom(draw, True, False)] or ['a']
    vcpus = draw(st.integers(1, 2))
    most = max((sorted(hosts[name].shares.left)[-vcpus] for name in among
                if len(hosts[name].shares.left) >= vcpus), default=0)
    share = min(95, max(0, most) * 100 // (1 << 20) + draw(st.integers(2, 30)))
    return Cloud(hosts, frozenset(refused)), wanted(share, vcpus, among, {MEMORY: 64})


def _guests(draw, number, pcpus):
    free, guests = [95] * pcpus, {}
    for _ in range(draw(st.integers(1, 4))):
        share = draw(st.integers(10, 45))
        fits = [pcpu for pcpu in range(pcpus) if free[pcpu] >= share]
        if not fits:
            continue
        chosen = draw(st.lists(st.sampled_from(fits), min_size=1, unique=True))
        for pcpu in chosen:
            free[pcpu] -= share
        memory = draw(st.sampled_from((64, 512, 4096)))
        guests[str(next(number))] = (share, sorted(chosen), {
            'memory_mb': memory, 'needs': {MEMORY: memory},
            'criticality': _seldom(draw, Criticality.A, *Criticality),
            'moves': _seldom(draw, True, False), 'migrates': _seldom(draw, True, False)})
    return guests


def _seldom(draw, usual, *others):
    """Return something unusual once in a while."""
    return draw(st.sampled_from((*[usual] * 7 * len(others), *others)))
