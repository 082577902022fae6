# SPDX-License-Identifier: Apache-2.0
"""Several hosts, the servers on them, and the steps that change where these are.

A step is a move of a vCPU between pCPUs of a host, or a live migration. A migration holds
both ends until it is over. Its pCPUs are those that the claim on its target would choose.

What a step costs is an integer: 1 for a move, which takes the contents of some caches;
for a migration the memory that it sends in MiB, and 1024 more, as it lets the guest stand
still. So no number of moves that a plan may have is as dear as one migration.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import functools

from nova_rt import bandwidth
from nova_rt import criticality
from nova_rt import fitting
from nova_rt import kinds
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.defrag.layout import Layout
from nova_rt.defrag.layout import Move
from nova_rt.defrag.layout import MoveError
from nova_rt.shares import HostShares

STANDSTILL = 1024
"""What a migration costs beside its memory."""


@dataclasses.dataclass(frozen=True, slots=True)
class VCPUMove:
    """A vCPU of a server goes to another pCPU of its host."""

    host: str
    move: Move

    @property
    def cost(self) -> int:
        """What it costs beside others."""
        return 1


@dataclasses.dataclass(frozen=True, slots=True)
class Migration:
    """A server goes to another host while it runs."""

    server: str
    source: str
    target: str
    bandwidth: int
    memory_mb: int

    @property
    def cost(self) -> int:
        """What it costs beside others."""
        return STANDSTILL + self.memory_mb


Step = VCPUMove | Migration


def cost(steps: Collection[Step]) -> int:
    """Return what steps cost together."""
    return sum(step.cost for step in steps)


@dataclasses.dataclass(frozen=True, slots=True)
class Guest:
    """A server that holds a reservation on one host.

    :ivar needs: by resource class of Placement, what it takes at most where it comes
    :ivar frees: what it gives back at least where it leaves; None if it is the same
    :ivar criticality: that it counts as
    :ivar moves: whether its vCPUs may go to other pCPUs of its host
    :ivar migrates: whether it may go to other hosts
    """

    holding: ledger.Holding
    memory_mb: int = 0
    needs: Mapping[str, int] = dataclasses.field(default_factory=dict)
    frees: Mapping[str, int] | None = None
    criticality: criticality.Criticality = criticality.Criticality.A
    moves: bool = True
    migrates: bool = True

    @property
    def leaves(self) -> Mapping[str, int]:
        """What Placement surely has back once it has left."""
        return self.needs if self.frees is None else self.frees


@dataclasses.dataclass(frozen=True)
class Host:
    """A host.

    :ivar shares: its bandwidth, with all that is held
    :ivar guests: the servers on it that may be moved or migrated, by uuid
    :ivar left: by resource class of Placement, what may still be allocated
    :ivar policy: by which claims choose pCPUs
    :ivar criticalities: of the servers that it takes
    :ivar moves: whether vCPUs are moved between its pCPUs
    :ivar open: whether Nova places servers on it
    :ivar cell: of Nova; no server leaves its own
    """

    shares: HostShares
    guests: Mapping[str, Guest]
    left: Mapping[str, int] = dataclasses.field(default_factory=dict)
    policy: str = fitting.DEFAULT
    kind: kinds.Kind = kinds.Kind.MACHINE
    criticalities: Collection[criticality.Criticality] = criticality.EVERY
    moves: bool = True
    open: bool = True
    cell: str = ''

    @functools.cached_property
    def layout(self) -> Layout:
        """Its pCPUs, and the servers that may be moved between them."""
        return Layout.of(self.shares, {
            uuid: guest.holding for uuid, guest in self.guests.items()
            if guest.moves} if self.moves else {})

    def has(self, needs: Mapping[str, int]) -> bool:
        """Return whether Placement may allocate so much."""
        return all(self.left.get(name, 0) >= amount for name, amount in needs.items())

    def after(self, move: Move) -> Host:
        """Return the host after a move of a vCPU.

        :raises MoveError: if it cannot be made
        """
        self.layout.after(move)
        guest = self.guests[move.server]
        return self._changed(
            self.shares.add_all([(-move.bandwidth, (move.source,)),
                                 (move.bandwidth, (move.target,))]),
            {**self.guests, move.server: dataclasses.replace(
                guest, holding=move.of(guest.holding))})

    def without(self, server: str) -> Host:
        """Return the host after a server has left."""
        guests = dict(self.guests)
        guest = guests.pop(server)
        return self._changed(
            self.shares.remove(guest.holding.reservation, guest.holding.pcpus), guests,
            {name: left + guest.leaves.get(name, 0) for name, left in self.left.items()})

    def with_guest(self, server: str, guest: Guest) -> Host:
        """Return the host with a server, where its claim would put it.

        :raises fitting.NoRoomError: if it does not fit
        """
        wanted = guest.holding.reservation
        pcpus = fitting.place(self.shares, wanted, self.policy)
        return self._changed(
            self.shares.add(wanted, pcpus),
            {**self.guests, server: dataclasses.replace(
                guest, holding=dataclasses.replace(
                    guest.holding, pcpus=tuple(sorted(pcpus))))},
            {name: left - guest.needs.get(name, 0) for name, left in self.left.items()})

    def _changed(self, now: HostShares, guests: Mapping[str, Guest],
                 left: Mapping[str, int] | None = None) -> Host:
        return dataclasses.replace(self, shares=now, guests=guests,
                                   left=self.left if left is None else left)


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What there is to be room for, on one host.

    :ivar needs: by resource class of Placement, what it takes
    :ivar hosts: those that it may be on
    """

    reservation: reservation.Reservation
    needs: Mapping[str, int]
    hosts: Collection[str]

    def fits(self, host: Host) -> bool:
        """Return whether a host has room for it."""
        return host.has(self.needs) and fitting.shortfall(host.shares, self.reservation) is None


@dataclasses.dataclass(frozen=True, slots=True)
class Cloud:
    """Hosts by name.

    :ivar refused: servers, and the hosts that these may not go to for reasons that are
        not ours
    """

    hosts: Mapping[str, Host]
    refused: Collection[tuple[str, str]] = frozenset()

    def allows(self, server: str, source: str, target: str) -> bool:
        """Return whether a server may go to a host, however full that is."""
        here, there = self.hosts[source], self.hosts[target]
        guest = here.guests[server]
        return (guest.migrates and source != target and there.open
                and there.cell == here.cell and there.kind is here.kind is kinds.Kind.MACHINE
                and guest.criticality in there.criticalities
                and (server, target) not in self.refused)

    def takes(self, server: str, source: str, target: str) -> bool:
        """Return whether a server may go to a host if that has the bandwidth."""
        return (self.allows(server, source, target)
                and self.hosts[target].has(self.hosts[source].guests[server].needs))

    def migration(self, server: str, source: str, target: str) -> Migration:
        """Return the step that takes a server to another host."""
        guest = self.hosts[source].guests[server]
        return Migration(server, source, target, guest.holding.reservation.bandwidth,
                         guest.memory_mb)

    def after(self, step: Step) -> Cloud:
        """Return the cloud after a step.

        :raises MoveError: if it cannot be made
        """
        if isinstance(step, VCPUMove):
            return self._changed({step.host: self.hosts[step.host].after(step.move)})
        guest = self.hosts[step.source].guests.get(step.server)
        if guest is None or not self.takes(step.server, step.source, step.target):
            raise MoveError(f'Server {step.server} cannot go from {step.source} to '
                            f'{step.target}.')
        try:
            target = self.hosts[step.target].with_guest(step.server, guest)
        except fitting.NoRoomError:
            raise MoveError(
                f'{step.target} has no room for {bandwidth.percent(step.bandwidth)} on each '
                f'vCPU of server {step.server}.') from None
        return self._changed({step.target: target,
                              step.source: self.hosts[step.source].without(step.server)})

    def follow(self, steps: Collection[Step]) -> Cloud:
        """Return the cloud after steps.

        :raises MoveError: if one cannot be made
        """
        cloud = self
        for step in steps:
            cloud = cloud.after(step)
        return cloud

    def _changed(self, changed: Mapping[str, Host]) -> Cloud:
        return dataclasses.replace(self, hosts={**self.hosts, **changed})
