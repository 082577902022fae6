# SPDX-License-Identifier: Apache-2.0
import errno
import pathlib

import pytest

from nova_rt import bandwidth
from nova_rt import reservation
from nova_rt.testing import fake_scheduler
from nova_rt.virt.deadline import admission
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import scheduler

ONE_EACH = [frozenset({pcpu}) for pcpu in range(4)]


def test_a_kernel_that_is_set_to_admit_nothing_leaves_it_to_the_ledger(unlimited):
    kernel = fake_scheduler.FakeScheduler(proc=unlimited)
    found = admission.detect(kernel, range(4))
    assert found is admission.Admission.LEDGER
    assert found.admitted(kernel) == bandwidth.BW_UNIT - bandwidth.to_bandwidth(50, 1000)


def test_a_kernel_with_a_root_domain_for_each_pcpu_admits_as_well(proc):
    kernel = fake_scheduler.FakeScheduler(admits=True, domains=ONE_EACH, proc=proc)
    found = admission.detect(kernel, range(4))
    assert found is admission.Admission.KERNEL
    assert bandwidth.percent(found.admitted(kernel)) == '90%'


def test_pcpus_in_a_common_root_domain_are_named_with_what_to_do(proc):
    kernel = fake_scheduler.FakeScheduler(
        admits=True, domains=[frozenset({0, 2, 3}), frozenset({1})], proc=proc)
    with pytest.raises(errors.RefusalError) as refusal:
        admission.detect(kernel, range(4))
    assert str(refusal.value) == (
        'The kernel refuses SCHED_DEADLINE to a thread that is pinned to pCPU(s) 0, 2, 3: '
        'set kernel.sched_rt_runtime_us to -1, or give each pCPU a root domain of its own '
        '(a cpuset partition), or leave them out of [rt] cpu_set.')
    assert admission.detect(kernel, [1]) is admission.Admission.KERNEL


def test_a_process_without_the_capability_is_advised_to_run_as_root(proc):
    kernel = fake_scheduler.FakeScheduler(proc=proc)
    kernel.capable = False
    with pytest.raises(errors.RefusalError, match='run nova-rt-compute as root'):
        admission.detect(kernel, range(4))


def test_a_pcpu_that_is_full_still_shows_that_the_kernel_admits(proc):
    kernel = fake_scheduler.FakeScheduler(admits=True, domains=ONE_EACH, proc=proc)
    thread, = kernel.start(1)
    kernel.refuse[thread + 1] = errno.EBUSY
    assert admission.detect(kernel, range(4)) is admission.Admission.KERNEL


def test_the_probe_is_a_process_of_our_own_that_is_ended():
    with scheduler.Scheduler().sleeper() as pid:
        process = pathlib.Path(f'/proc/{pid}')
        assert process.exists()
    assert not process.exists()


def test_a_reservation_is_tried_out_on_every_pcpu_and_leaves_nothing(proc):
    kernel = fake_scheduler.FakeScheduler(admits=True, domains=ONE_EACH, proc=proc)
    full, = kernel.start(1)
    kernel.set_affinity(full, frozenset({3}))
    kernel.write(full, of_percent(60))
    admission.try_out(kernel, (0, 1, 2), of_percent(50))
    with pytest.raises(errors.RefusalError, match='EBUSY'):
        admission.try_out(kernel, (2, 3), of_percent(50))
    assert [bandwidth.percent(share) for share in kernel.bandwidths()] == [
        '0%', '0%', '0%', '60%']


def of_percent(percent):
    return attributes.of_reservation(
        reservation.Reservation(percent * 1000, 100_000, 1))
