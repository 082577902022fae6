# SPDX-License-Identifier: Apache-2.0
"""A host with a reactor that hears real processes; the kernel's budgets are a stand-in's."""

import time

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.reaction import ears
from nova_rt.reaction import loan_policy
from nova_rt.reaction import reactor as reactors
from nova_rt.reaction import threshold
from nova_rt.testing import fake_kernel
from nova_rt.virt import container_host
from nova_rt.virt import containers
from nova_rt.virt import loans
from nova_rt.virt.cgroup import detect

PATIENCE_S = 30
WEB, DB = 'web', 'db'
HELD = ledger.Holding(reservation.Reservation(30_000, 100_000, 1), (0,))
CAP = bandwidth.fraction_to_bandwidth(0.9)


def policy(after=2, most=0.5, for_s=600.0, shrinks=True, window_s=60.0):
    return loan_policy.LoanPolicy(
        threshold.Threshold(after, window_s) if after else None,
        bandwidth.fraction_to_bandwidth(most), for_s, shrinks)


class Node:
    """A host with a reactor.

    Containers have numbers as libvirt gives them, and each a process of its own.
    """

    def __init__(self, folder, new_container, application, monkeypatch):
        self.kernel = fake_kernel.FakeKernel(2, multi=True)
        found = detect.detect(self.kernel, 2)
        self.host = container_host.ContainerHost(
            found, shares.HostShares.empty([CAP] * 2, found.occupancy),
            book=loans.Loans(folder))
        self.told = []
        self.shrunk = []
        self.to_move = []
        self.runs = {}
        self._numbers = {}
        self._new_container = new_container
        self._application = application
        monkeypatch.setattr(containers, 'first_process', self._first_process)
        self.reactor = None

    def _first_process(self, number):
        if number not in self._numbers:
            raise ProcessLookupError(number)
        return self._numbers[number].pid

    def begin(self, quiet_s=0.0, listen=ears.to_container, **wanted):
        self.reactor = reactors.Reactor(
            self.host, lambda: dict(self.runs), policy(**wanted),
            lambda server, sentence: self.told.append((server, sentence)),
            lambda server, sentence: self.shrunk.append((server, sentence)), quiet_s,
            listen, relieve=self.to_move.append)
        self.reactor.start()

    def run(self, server, number, holding=HELD):
        """Start a container, and return the number's control job."""
        self._numbers[number] = made = self._new_container()
        self.kernel.start(number, f'machine/{number}')
        self.host.apply(number, holding)
        self.runs[server] = containers.Container(number, holding)
        return self._application(made)

    def watched(self, *servers):
        """Wait until these servers are watched, and no others."""
        self.reactor.look_again()
        self.eventually(lambda: set(self.reactor._known) == set(servers))

    def eventually(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end, self.told
            time.sleep(0.01)

    def has(self, number):
        return round(self.kernel.bandwidths(f'machine/{number}')[0] * 100 / bandwidth.BW_UNIT)

    def sentences(self, count):
        self.eventually(lambda: len(self.told) >= count)
        return [sentence for _, sentence in self.told]
