# SPDX-License-Identifier: Apache-2.0
import errno
import pathlib

import pytest

from nova_rt import bandwidth
from nova_rt.testing import fake_scheduler
from nova_rt.virt.deadline import admission
from nova_rt.virt.deadline import errors

ONE_EACH = [frozenset({pcpu}) for pcpu in range(4)]


@pytest.fixture
def detect(probed):
    """Try out a stand-in with a thread of its own."""
    def detect(kernel, pcpus=range(4)):
        probed(kernel)
        try:
            return admission.detect(kernel, pcpus)
        finally:
            assert not any(kernel.bandwidths()), 'the probe has kept SCHED_DEADLINE'
    return detect


def test_a_kernel_that_is_set_to_admit_nothing_leaves_it_to_the_ledger(unlimited, detect):
    kernel = fake_scheduler.FakeScheduler(proc=unlimited)
    found = detect(kernel)
    assert found is admission.Admission.LEDGER
    assert found.admitted(kernel) == bandwidth.BW_UNIT - bandwidth.to_bandwidth(50, 1000)


def test_a_kernel_with_a_root_domain_for_each_pcpu_admits_as_well(proc, detect):
    kernel = fake_scheduler.FakeScheduler(admits=True, domains=ONE_EACH, proc=proc)
    found = detect(kernel)
    assert found is admission.Admission.KERNEL
    assert bandwidth.percent(found.admitted(kernel)) == '90%'


def test_pcpus_in_a_common_root_domain_are_named_with_what_to_do(proc, detect):
    kernel = fake_scheduler.FakeScheduler(
        admits=True, domains=[frozenset({0, 2, 3}), frozenset({1})], proc=proc)
    with pytest.raises(errors.RefusalError) as refusal:
        detect(kernel)
    assert str(refusal.value) == (
        'The kernel refuses SCHED_DEADLINE to a thread that is pinned to pCPU(s) 0, 2, 3: '
        'set kernel.sched_rt_runtime_us to -1, or give each pCPU a root domain of its own '
        '(a cpuset partition), or leave them out of [rt] cpu_set.')
    assert detect(kernel, [1]) is admission.Admission.KERNEL


def test_a_process_without_the_capability_is_advised_to_run_as_root(proc, detect):
    kernel = fake_scheduler.FakeScheduler(proc=proc)
    kernel.capable = False
    with pytest.raises(errors.RefusalError, match='run nova-rt-compute as root'):
        detect(kernel)


def test_a_pcpu_that_is_full_still_shows_that_the_kernel_admits(proc, detect):
    kernel = fake_scheduler.FakeScheduler(admits=True, domains=ONE_EACH, proc=proc)
    thread, = kernel.start(1)
    kernel.refuse[thread + 1] = errno.EBUSY
    assert detect(kernel) is admission.Admission.KERNEL


def test_the_probe_is_a_process_of_our_own_that_is_ended():
    with admission._sleeper() as pid:
        process = pathlib.Path(f'/proc/{pid}')
        assert process.exists()
    assert not process.exists()
