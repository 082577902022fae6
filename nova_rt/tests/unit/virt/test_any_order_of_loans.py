# SPDX-License-Identifier: Apache-2.0
"""Servers start, end, change, suffer and are helped, and the service dies, in any order."""

import errno
import pathlib
import tempfile
import time

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.testing import fake_kernel
from nova_rt.virt import confinement
from nova_rt.virt import container_host
from nova_rt.virt import loans
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors

CAP = bandwidth.fraction_to_bandwidth(0.9)
ALL = bandwidth.BW_UNIT
# Short, as whoever calls something in waits for one.
PERIOD_US = 10_000
PCPUS = 4


def holding(percents, *pcpus):
    return ledger.Holding(reservation.Reservation(
        PERIOD_US * percents // 100, PERIOD_US, len(pcpus)), pcpus)


def out(book):
    """Return the loans that have not been given back."""
    return [loan for loan in book if loan.returned_s is None]


class Lending(stateful.RuleBasedStateMachine):
    """The ledger's promise is kept throughout: whoever fits without loans starts."""

    def __init__(self):
        super().__init__()
        self.kernel = fake_kernel.FakeKernel(PCPUS, multi=True)
        self.folder = tempfile.TemporaryDirectory()
        self.book = loans.Loans(pathlib.Path(self.folder.name, 'loans'))
        self.held = {}
        self.pid = 10
        self.restart()

    @stateful.rule()
    def restart(self):
        found = detect.detect(self.kernel, PCPUS)
        self.machine = container_host.ContainerHost(
            found, shares.HostShares.empty([CAP] * PCPUS, found.occupancy), book=self.book)
        self.machine._confinement = self
        self.threads_stay = False
        self.machine.reconcile(self.held.items())

    # What confines threads; a test's own processes have no cpuset.

    def follow(self, *args):
        """Confine nothing."""

    def move(self, group, *args):
        """Lend something meanwhile, and fail where threads do not go."""
        pid = int(group.rpartition('/')[2])
        self.machine.lend(pid, ALL, time.monotonic() + 60)
        if self.threads_stay:
            raise confinement.UnseenError('They stay.')

    def left(self, besides=None):
        return shares.HostShares.empty([CAP] * PCPUS).add_all(
            (each.reservation.bandwidth, each.pcpus)
            for pid, each in self.held.items() if pid != besides).left

    @stateful.rule(percents=st.integers(1, 90), pcpus=st.sets(
        st.integers(0, PCPUS - 1), min_size=1))
    def start(self, percents, pcpus):
        wanted = holding(percents, *sorted(pcpus))
        if all(self.left()[pcpu] >= wanted.reservation.bandwidth for pcpu in pcpus):
            self.pid += 1
            self.kernel.start(self.pid, f'machine/{self.pid}')
            self.machine.apply(self.pid, wanted)
            self.held[self.pid] = wanted

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data())
    def end(self, data):
        pid = data.draw(st.sampled_from(sorted(self.held)))
        del self.held[pid]
        self.kernel.stop(pid)
        self.machine.take_back_all()

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data(), percents=st.integers(1, 90))
    def change(self, data, percents):
        pid = data.draw(st.sampled_from(sorted(self.held)))
        wanted = holding(percents, *self.held[pid].pcpus)
        if all(self.left(pid)[pcpu] >= wanted.reservation.bandwidth for pcpu in wanted.pcpus):
            self.machine.apply(pid, wanted)
            self.held[pid] = wanted

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data(), pcpu=st.integers(0, PCPUS - 1), fails=st.booleans())
    def move_vcpu(self, data, pcpu, fails):
        pid = data.draw(st.sampled_from(sorted(self.held)))
        before = self.held[pid]
        if pcpu in before.pcpus or self.left()[pcpu] < before.reservation.bandwidth:
            return
        after = before.moved(before.pcpus[0], pcpu)
        self.threads_stay = fails
        try:
            self.machine.move(pid, after)
            self.held[pid] = after
        except confinement.UnseenError:
            self.threads_stay = False
            self.machine.move(pid, before)
        self.threads_stay = False

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data(), most=st.integers(0, ALL), ended=st.booleans(),
                   fails=st.booleans())
    def lend(self, data, most, ended, fails):
        pid = data.draw(st.sampled_from(sorted(self.held)))
        self.kernel.refuse_containers = errno.EINVAL if fails else None
        try:
            self.machine.lend(pid, most, time.monotonic() + (0 if ended else 60))
        except errors.KernelRefusalError:
            assert fails
        finally:
            self.kernel.refuse_containers = None

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data())
    def give_back(self, data):
        pid = data.draw(st.sampled_from(sorted(self.held)))
        self.machine.give_back(pid)
        assert not [loan for loan in out(self.book) if loan.group == f'machine/{pid}']

    @stateful.invariant()
    def nobody_has_less_than_they_hold_and_no_pcpu_more_than_its_cap(self):
        total = [0] * PCPUS
        for pid, each in self.held.items():
            found = self.kernel.bandwidths(f'machine/{pid}')
            total = [t + f for t, f in zip(total, found, strict=True)]
            for pcpu, bandwidths in enumerate(found):
                assert bandwidths >= (
                    each.reservation.bandwidth if pcpu in each.pcpus else 0)
                assert pcpu in each.pcpus or not bandwidths
        assert all(each <= CAP for each in total)

    @stateful.invariant()
    def every_loan_is_written_down(self):
        for pid, each in self.held.items():
            if self.kernel.bandwidths(f'machine/{pid}') != [
                    each.reservation.bandwidth if pcpu in each.pcpus else 0
                    for pcpu in range(PCPUS)]:
                assert f'machine/{pid}' in {loan.group for loan in out(self.book)}

    def teardown(self):
        for pid, each in self.held.items():
            self.machine.apply(pid, each)
        for pid, each in self.held.items():
            assert self.kernel.bandwidths(f'machine/{pid}') == [
                each.reservation.bandwidth if pcpu in each.pcpus else 0
                for pcpu in range(PCPUS)]
        self.folder.cleanup()


Lending.TestCase.settings = hypothesis.settings(
    max_examples=100, stateful_step_count=25, deadline=None)
TestLending = Lending.TestCase
