# SPDX-License-Identifier: Apache-2.0
"""Two hosts' ledgers through claims, moves, confirms and reverts, at random."""

from hypothesis import settings
from hypothesis import stateful
from hypothesis import strategies as st

from nova_rt import bandwidth
from nova_rt import fitting
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares

CAP = bandwidth.fraction_to_bandwidth(0.95)
HOSTS = (0, 1)
SERVER, MOVE = 'server', 'move'


class LedgerMachine(stateful.RuleBasedStateMachine):
    """Enters what the resource trackers enter; a plain dict is the model.

    :ivar held: by server, role and host, what is held there
    :ivar moving: by server, source and destination of its move
    """

    servers = stateful.Bundle('servers')

    @stateful.initialize(occupancy=st.sampled_from(shares.Occupancy),
                         policy=st.sampled_from(sorted(fitting.POLICIES)))
    def two_hosts(self, occupancy, policy):
        self.empty = shares.HostShares.empty((CAP, CAP, CAP, 0), occupancy)
        self.policy = policy
        self.books = {host: ledger.Ledger() for host in HOSTS}
        self.held = {}
        self.moving = {}
        self.count = 0

    def claim(self, server, role, host, percent, vcpus):
        """Hold a reservation on a host if it fits; return whether it does."""
        wanted = reservation.Reservation(percent * 1000, 100_000, vcpus)
        try:
            pcpus = fitting.place(
                self.books[host].shares(self.empty), wanted, self.policy)
        except fitting.NoRoomError:
            return False
        self.enter(server, role, host, ledger.Holding(wanted, pcpus))
        return True

    def enter(self, server, role, host, holding):
        self.books[host].enter(server, role, holding)
        if holding is None:
            self.held.pop((server, role, host), None)
        else:
            self.held[server, role, host] = holding

    def home_of(self, server):
        return next((host for name, role, host in self.held
                     if (name, role) == (server, SERVER)), None)

    @stateful.rule(target=servers, host=st.sampled_from(HOSTS),
                   percent=st.integers(1, 100), vcpus=st.integers(1, 4))
    def build(self, host, percent, vcpus):
        self.count += 1
        self.claim(str(self.count), SERVER, host, percent, vcpus)
        return str(self.count)

    @stateful.rule(server=servers, to=st.sampled_from(HOSTS),
                   percent=st.integers(1, 100), vcpus=st.integers(1, 4))
    def begin_move(self, server, to, percent, vcpus):
        home = self.home_of(server)
        if home is None or server in self.moving:
            return
        if self.claim(server, MOVE, to, percent, vcpus):
            self.moving[server] = home, to

    @stateful.rule(server=servers)
    def confirm(self, server):
        if server in self.moving:
            home, to = self.moving.pop(server)
            holding = self.held[server, MOVE, to]
            self.enter(server, SERVER, home, None)
            self.enter(server, MOVE, to, None)
            self.enter(server, SERVER, to, holding)

    @stateful.rule(server=servers)
    def revert(self, server):
        if server in self.moving:
            _, to = self.moving.pop(server)
            self.enter(server, MOVE, to, None)

    @stateful.rule(server=servers)
    def delete(self, server):
        self.moving.pop(server, None)
        for host in HOSTS:
            for role in (SERVER, MOVE):
                self.enter(server, role, host, None)

    @stateful.rule(host=st.sampled_from(HOSTS))
    def update(self, host):
        self.books[host] = ledger.Ledger()
        for (server, role, where), holding in self.held.items():
            if where == host:
                self.books[host].enter(server, role, holding)

    @stateful.invariant()
    def no_pcpu_is_over_the_cap(self):
        for book in getattr(self, 'books', {}).values():
            now = book.shares(self.empty)
            assert all(used <= most for used, most in zip(
                now.used, now.capacity, strict=True) if most)

    @stateful.invariant()
    def the_books_are_the_sum_of_what_is_held(self):
        for host, book in getattr(self, 'books', {}).items():
            here = [holding for (_, _, where), holding in self.held.items()
                    if where == host]
            expected = [0] * 4
            for holding in here:
                every = self.empty.occupancy is shares.Occupancy.EVERY
                for pcpu in range(4) if every else holding.pcpus:
                    expected[pcpu] += holding.reservation.bandwidth
            assert book.shares(self.empty).used == tuple(expected)
            assert len(book) == len(here)


class TestLedger(LedgerMachine.TestCase):
    """At no step does a book differ from what is held."""

    settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
