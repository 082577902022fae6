# SPDX-License-Identifier: Apache-2.0
import errno
import types

import pytest

from nova_rt import bandwidth
from nova_rt import ledger
from nova_rt import reservation
from nova_rt.testing import fake_scheduler
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import threads

ALL = frozenset(range(4))


def holding(runtime_us, *pcpus):
    return ledger.Holding(
        reservation.Reservation(runtime_us, 100_000, len(pcpus)), pcpus)


@pytest.fixture
def kernel():
    return fake_scheduler.FakeScheduler(4)


def wanted(kernel, vcpus, held):
    return threads.wanted(threads.present(kernel, vcpus), held)


def apply(kernel, vcpus, held):
    return threads.apply(kernel, wanted(kernel, vcpus, held))


def test_each_thread_is_pinned_to_one_pcpu_and_has_its_runtime_there(kernel):
    vcpus = kernel.start(2)
    assert apply(kernel, vcpus, holding(40_000, 3, 1))
    need = bandwidth.to_bandwidth(40_000, 100_000)
    assert kernel.bandwidths() == [0, need, 0, need]
    assert [kernel.affinity(thread) for thread in vcpus] == [{1}, {3}]


def test_what_is_in_place_is_not_written_again(kernel):
    vcpus = kernel.start(2)
    apply(kernel, vcpus, holding(40_000, 0, 1))
    kernel.writes.clear()
    assert not apply(kernel, vcpus, holding(40_000, 0, 1))
    assert kernel.writes == []


@pytest.mark.parametrize('refused', [0, 1, 2])
def test_a_refusal_leaves_all_threads_as_they_were(kernel, refused):
    vcpus = kernel.start(3)
    kernel.refuse[vcpus[refused]] = errno.EBUSY
    before = threads.present(kernel, vcpus)
    with pytest.raises(errors.RefusalError, match=f'thread {vcpus[refused]} '):
        apply(kernel, vcpus, holding(40_000, 0, 1, 2))
    assert threads.present(kernel, vcpus) == before


@pytest.mark.parametrize('refused', [0, 1, 2])
def test_a_refused_change_leaves_the_reservation_as_it_was(kernel, refused):
    vcpus = kernel.start(3)
    apply(kernel, vcpus, holding(40_000, 0, 1, 2))
    kernel.refuse[vcpus[refused]] = errno.EBUSY
    before = threads.present(kernel, vcpus)
    with pytest.raises(errors.RefusalError):
        apply(kernel, vcpus, holding(60_000, 0, 1, 2))
    assert threads.present(kernel, vcpus) == before


def test_a_thread_that_ends_meanwhile_leaves_the_others_as_they_were(kernel, monkeypatch):
    vcpus = kernel.start(2)
    write = kernel.write

    def write_and_end(thread, wanted):
        if thread == vcpus[1]:
            kernel.end(thread)
        write(thread, wanted)

    monkeypatch.setattr(kernel, 'write', write_and_end)
    with pytest.raises(ProcessLookupError, match='has ended'):
        apply(kernel, vcpus, holding(40_000, 0, 1))
    assert kernel.bandwidths() == [0] * 4
    assert kernel.affinity(vcpus[0]) == ALL


def test_a_thread_that_cannot_be_set_back_is_in_the_log(kernel, caplog):
    vcpus = kernel.start(2)
    write = kernel.write

    def refuse_rollback(thread, wanted):
        if thread == vcpus[1]:
            kernel.refuse[vcpus[1]] = errno.EINVAL
        elif not wanted.bandwidth:
            kernel.refuse[vcpus[0]] = errno.EBUSY
        write(thread, wanted)

    kernel.write = refuse_rollback
    with pytest.raises(errors.RefusalError, match='EINVAL'):
        apply(kernel, vcpus, holding(40_000, 0, 1))
    assert f'Thread {vcpus[0]} does not have its former scheduling' in caplog.text


@pytest.fixture
def admitting():
    """A kernel that admits threads itself, to each pCPU."""
    return fake_scheduler.FakeScheduler(4, admits=True, domains=[
        frozenset({pcpu}) for pcpu in range(4)])


def test_a_refusal_leaves_nothing_that_the_kernel_goes_on_counting(admitting):
    """The threads of a virtual machine that is to start sleep."""
    for _ in range(3):
        vcpus = admitting.start(2)
        admitting.refuse[vcpus[1]] = errno.EPERM
        with pytest.raises(errors.RefusalError, match='EPERM'):
            apply(admitting, vcpus, holding(60_000, 0, 1))
        admitting.end(*vcpus)
    assert apply(admitting, admitting.start(2), holding(60_000, 0, 1))


class Busy:
    """Has a kernel refuse a thread for want of bandwidth, some times; and a clock."""

    def __init__(self, kernel, thread, times, monkeypatch):
        self.kernel, self.thread, self.times = kernel, thread, times
        self.now = 0.0
        self._write = kernel.write
        monkeypatch.setattr(kernel, 'write', self.write)
        monkeypatch.setattr(threads, 'time', types.SimpleNamespace(
            monotonic=lambda: self.now, sleep=self.sleep))

    def write(self, thread, wanted):
        if thread == self.thread and wanted.bandwidth and self.times:
            self.times -= 1
            self.kernel.refuse[thread] = errno.EBUSY
        self._write(thread, wanted)

    def sleep(self, seconds):
        self.now += seconds


def test_what_a_thread_that_has_just_ended_had_is_waited_for(admitting, monkeypatch):
    """As in a hard reboot: the kernel gives it back at its zero-lag time."""
    vcpus = admitting.start(2)
    busy = Busy(admitting, vcpus[1], 3, monkeypatch)
    assert apply(admitting, vcpus, holding(60_000, 0, 1))
    assert 0 < busy.now <= 0.1
    assert all(admitting.bandwidths()[:2])


def test_it_is_waited_for_one_period_at_most(admitting, monkeypatch):
    vcpus = admitting.start(2)
    busy = Busy(admitting, vcpus[1], 1_000, monkeypatch)
    with pytest.raises(errors.RefusalError, match='EBUSY'):
        apply(admitting, vcpus, holding(60_000, 0, 1))
    assert 0.1 <= busy.now < 0.2
    assert not any(admitting.bandwidths())


def test_where_nobody_but_the_ledger_admits_nothing_is_waited_for(kernel, monkeypatch):
    vcpus = kernel.start(2)
    busy = Busy(kernel, vcpus[1], 1, monkeypatch)
    with pytest.raises(errors.RefusalError, match='EBUSY'):
        apply(kernel, vcpus, holding(60_000, 0, 1))
    assert busy.now == 0


@pytest.mark.parametrize('vcpus', [(0, 0), (0,), (0, 1, 2)])
def test_vcpus_without_a_thread_of_their_own_are_refused(kernel, vcpus):
    started = kernel.start(3)
    with pytest.raises(errors.DeadlineError, match='each vCPU needs a thread of its own'):
        wanted(kernel, [started[vcpu] for vcpu in vcpus], holding(40_000, 0, 1))


def test_where_one_vcpu_goes_elsewhere_the_others_stay(kernel):
    vcpus = kernel.start(3)
    apply(kernel, vcpus, holding(40_000, 0, 1, 2))
    apply(kernel, vcpus, holding(40_000, 1, 2, 3))
    assert [kernel.affinity(thread) for thread in vcpus] == [{3}, {1}, {2}]


def test_of_two_threads_on_one_pcpu_the_second_goes_elsewhere(kernel):
    vcpus = kernel.start(2)
    for thread in vcpus:
        kernel.pin(thread, 2)
    apply(kernel, vcpus, holding(40_000, 0, 2))
    assert [kernel.affinity(thread) for thread in vcpus] == [{2}, {0}]
