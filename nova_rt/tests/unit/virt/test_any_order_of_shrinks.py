# SPDX-License-Identifier: Apache-2.0
"""Servers start, end, change, move, suffer and are helped at others' cost, and the service is
refused and killed anywhere, in any order. The stand-in for the kernel looks at each write, and
one for the clock lets nobody wait.
"""

import errno
import pathlib
import tempfile
import time
from unittest import mock

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from nova_rt import bandwidth
from nova_rt import elastic
from nova_rt import ledger
from nova_rt import reservation
from nova_rt import shares
from nova_rt.criticality import Criticality
from nova_rt.testing import zero_lag_kernel
from nova_rt.virt import container_host
from nova_rt.virt import loans
from nova_rt.virt import shrinks
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors

CAP = bandwidth.fraction_to_bandwidth(0.9)
PCPUS = 2
# Short, as whoever gives something up is waited for.
PERIODS_US = (2_000, 5_000)
RANKS = (Criticality.A, Criticality.C, Criticality.B, None)
NEVER = float('inf')


class Clock:
    """A clock by which who waits has waited, and on which each look takes a µs."""

    def __init__(self):
        self.now_s = time.monotonic()
        self._patch = mock.patch.multiple(time, monotonic=self.look, sleep=self.wait)
        self._patch.start()

    def look(self):
        self.now_s += 1e-6
        return self.now_s

    def wait(self, seconds):
        self.now_s += seconds

    def end(self):
        self._patch.stop()


class Kernel(zero_lag_kernel.ZeroLagKernel):
    """A kernel that fails.

    :ivar fails_after: how many writes before the next that fails
    :ivar fault: with which it fails
    """

    def __init__(self):
        super().__init__(PCPUS, CAP)
        self.fails_after = NEVER
        self.fault = None
        self.dead = False

    def write(self, group, name, text):
        if self.dead:
            raise SystemExit
        self.fails_after -= 1
        if self.fails_after < 0:
            self.fails_after = NEVER
            self.dead = self.fault is SystemExit
            raise SystemExit if self.dead else errors.KernelRefusalError('no', errno.EINVAL)
        super().write(group, name, text)


def holdings(draw, pcpus=None):
    period_us = draw(st.sampled_from(PERIODS_US))
    # So that a few fill a pCPU.
    percents = draw(st.sampled_from((30, 40, 50, 20, 10)) | st.integers(1, 60))
    runtime_us = period_us * percents // 100
    least = draw(st.sampled_from((2, runtime_us // 2, None)) | st.integers(2, runtime_us))
    if pcpus is None:
        pcpus = sorted(draw(st.sets(st.integers(0, PCPUS - 1), min_size=1)))
    return ledger.Holding(
        reservation.Reservation(runtime_us, period_us, len(pcpus)), tuple(pcpus),
        elastic.Terms(draw(st.sampled_from(RANKS)), max(least, 2) if least else least))


class GivingWay(stateful.RuleBasedStateMachine):
    """Nobody ever has less than they can live with, and nobody critical less than all."""

    def __init__(self):
        super().__init__()
        self.clock = Clock()
        self.kernel = Kernel()
        self.folder = tempfile.TemporaryDirectory()
        self.book = loans.Loans(pathlib.Path(self.folder.name, 'loans'))
        self.notes_left = NEVER
        self.note_for(self.book)
        self.shrunk = shrinks.Shrinks(self.book.folder)
        self.held = {}
        self.pid = 10
        self.restart()

    @stateful.rule()
    def restart(self):
        self.kernel.dead = False
        self.kernel.fails_after = NEVER
        found = detect.detect(self.kernel, PCPUS)
        self.machine = container_host.ContainerHost(
            found, shares.HostShares.empty([CAP] * PCPUS, found.occupancy), book=self.book)
        self.machine._confinement = self
        self.note_for(self.machine._lending._shrunk._book)
        self.machine.reconcile(self.held.items())

    # What confines threads; a test's own processes have no cpuset.

    def follow(self, *args):
        """Confine nothing."""

    def move(self, group, *args):
        """Somebody misses meanwhile."""
        for pid in self.held:
            self.machine.lend(pid, CAP, time.monotonic() + 60, shrink=True)

    def left(self, besides=None):
        return shares.HostShares.empty([CAP] * PCPUS).add_all(
            (each.reservation.bandwidth, each.pcpus)
            for pid, each in self.held.items() if pid != besides).left

    def fits(self, wanted, besides=None):
        return all(self.left(besides)[pcpu] >= wanted.reservation.bandwidth
                   for pcpu in wanted.pcpus)

    def any(self, data):
        return data.draw(st.sampled_from(sorted(self.held)))

    def may_fail(self, data):
        """Let a write fail, or all notes; return with what."""
        fault = data.draw(st.sampled_from([
            None, None, None, errors.KernelRefusalError, SystemExit, OSError]))
        if fault is OSError:
            self.notes_left = data.draw(st.integers(0, 6))
        elif fault is not None:
            self.kernel.fails_after = data.draw(st.integers(0, 8))
            self.kernel.fault = fault
        return fault

    def note_for(self, book):
        """Let a book write while there is room."""
        note = book.note

        def noting(what):
            self.notes_left -= 1
            if self.notes_left < 0:
                raise OSError(errno.ENOSPC, 'No space left on device')
            note(what)
        book.note = noting

    def survive(self, data, call, lends=False):
        """Do something that may be refused or cut off; return whether it was done.

        :param lends: whether it may be refused as it cannot be written down
        """
        fault = self.may_fail(data)
        try:
            call()
        except errors.KernelRefusalError:
            assert fault is errors.KernelRefusalError
            return False
        except OSError:
            assert fault is OSError
            assert lends
            return False
        except SystemExit:
            self.restart()
            return False
        finally:
            self.kernel.fails_after = self.notes_left = NEVER
        if self.kernel.dead:
            self.restart()
        return True

    @stateful.rule(data=st.data())
    def start(self, data):
        wanted = holdings(data.draw)
        if self.fits(wanted):
            self.pid += 1
            self.kernel.start(self.pid, f'machine/{self.pid}')
            self.machine.apply(self.pid, wanted)
            self.held[self.pid] = wanted

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data(), told=st.booleans())
    def end(self, data, told):
        pid = self.any(data)
        del self.held[pid]
        self.kernel.stop(pid)
        if told:
            self.machine.take_back(f'machine/{pid}')
        else:
            self.machine.reconcile(self.held.items())
        self.kernel.forget_uses()

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data())
    def change(self, data):
        pid = self.any(data)
        wanted = holdings(data.draw, self.held[pid].pcpus)
        if self.fits(wanted, pid):
            before = self.held[pid]
            self.held[pid] = wanted
            self.kernel.forget_uses()
            if not self.survive(data, lambda: self.machine.apply(pid, wanted)):
                # As Nova would: it has what it had, or is given it.
                self.held[pid] = before
                self.machine.apply(pid, before)
            self.kernel.forget_uses()

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data(), pcpu=st.integers(0, PCPUS - 1))
    def move_vcpu(self, data, pcpu):
        pid = self.any(data)
        before = self.held[pid]
        if pcpu not in before.pcpus and self.left()[pcpu] >= before.reservation.bandwidth:
            self.held[pid] = before.moved(before.pcpus[0], pcpu)
            self.machine.move(pid, self.held[pid])

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data(), most=st.just(CAP) | st.integers(0, CAP), ended=st.booleans())
    def miss(self, data, most, ended):
        """Help one that misses its deadlines, more often one that is critical."""
        pid = self.any(data)
        if data.draw(st.booleans()):
            pid = max(self.held, key=lambda pid: self.held[pid].terms.criticality or Criticality.A)
        until_s = time.monotonic() + (0 if ended else 60)
        self.survive(data, lambda: self.machine.lend(pid, most, until_s, shrink=True),
                     lends=True)

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data())
    def miss_for_nobody(self, data):
        self.machine.lend(self.any(data), CAP, time.monotonic() + 60)

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data())
    def give_back(self, data):
        pid = self.any(data)
        if self.survive(data, lambda: self.machine.give_back(pid)):
            self.machine.reconcile(self.held.items())
            assert not [each for each in self.shrunk if each.borrower == f'machine/{pid}']

    @stateful.rule(data=st.data())
    def update(self, data):
        self.survive(data, lambda: self.machine.reconcile(self.held.items()))

    @stateful.invariant()
    def nobody_is_late_for_what_others_have(self):
        assert not self.kernel.overcommits

    @stateful.invariant()
    def nobody_has_less_than_they_can_live_with(self):
        total = [0] * PCPUS
        for pid, each in self.held.items():
            found = self.kernel.bandwidths(f'machine/{pid}')
            total = [t + f for t, f in zip(total, found, strict=True)]
            own = each.reservation.bandwidth
            for pcpu, has in enumerate(found):
                if pcpu not in each.pcpus:
                    assert not has
                elif has < own:
                    self.look_at_victim(pid, each, has)
                elif has > own:
                    assert self.book.of(f'machine/{pid}').returned_s is None
        assert all(each <= CAP for each in total)

    def look_at_victim(self, pid, each, has):
        """Assert that somebody may have less than their reservation, and that all know."""
        assert each.terms.criticality is not Criticality.C
        assert each.terms.min_runtime_us is not None
        assert has >= bandwidth.to_bandwidth(
            each.terms.min_runtime_us, each.reservation.period_us)
        noted = self.shrunk.of(f'machine/{pid}')
        borrower = self.held[int(noted.borrower.rpartition('/')[2])]
        assert (borrower.terms.criticality or Criticality.A) > (
            each.terms.criticality or Criticality.A)
        loan = self.book.of(noted.borrower)
        assert loan is not None
        assert loan.returned_s is None
        if not loan.has_ended:
            audited = self.machine.survey({'one': pid}).containers['one']
            assert set(audited) <= {0, each.reservation.bandwidth}

    def teardown(self):
        try:
            self.all_have_their_own_at_the_end()
        finally:
            self.clock.end()
            self.folder.cleanup()

    def all_have_their_own_at_the_end(self):
        for pid in self.held:
            self.machine.give_back(pid)
        self.machine.reconcile(self.held.items())
        for pid, each in self.held.items():
            assert self.kernel.bandwidths(f'machine/{pid}') == [
                each.reservation.bandwidth if pcpu in each.pcpus else 0
                for pcpu in range(PCPUS)]
        assert not list(self.shrunk)


GivingWay.TestCase.settings = hypothesis.settings(
    max_examples=200, stateful_step_count=40, deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
TestGivingWay = GivingWay.TestCase
