# SPDX-License-Identifier: Apache-2.0
import time

import pytest

from nova_rt import bandwidth
from nova_rt.testing import fake_scheduler
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import findings
from nova_rt.virt.deadline import granularity

CPUS = frozenset(range(4))
CAP = bandwidth.fraction_to_bandwidth(0.95)


def examine(kernel, cap=CAP):
    return {row.check: row for row in findings.examine(kernel, CPUS, cap)}


def test_a_host_without_the_limit_is_well_and_told_what_that_costs(unlimited):
    rows = examine(fake_scheduler.FakeScheduler(proc=unlimited))
    assert {row.verdict for row in rows.values()} == {finding.OK}
    assert rows['dialect'].found.startswith('deadline: every vCPU')
    assert 'nova-rt alone admits' in rows['admission'].found


def test_a_host_with_root_domains_is_well_and_told_what_that_costs(proc):
    rows = examine(fake_scheduler.FakeScheduler(
        admits=True, domains=[{pcpu} for pcpu in CPUS], proc=proc), cap=CAP // 2)
    assert {row.verdict for row in rows.values()} == {finding.OK}
    assert 'balances no normal tasks' in rows['admission'].found


def test_a_kernel_that_refuses_pinned_threads_is_wrong(proc):
    row = examine(fake_scheduler.FakeScheduler(admits=True, proc=proc))['admission']
    assert row.verdict == finding.WRONG
    assert 'pinned to pCPU(s) 0, 1, 2, 3' in row.found
    assert row.advice.startswith('set kernel.sched_rt_runtime_us to -1, or ')
    assert '; -1 leaves admission to nova-rt alone and ends' in row.advice


def test_a_doctor_without_the_capability_is_advised_to_run_as_root(unlimited):
    kernel = fake_scheduler.FakeScheduler(proc=unlimited)
    kernel.capable = False
    assert examine(kernel)['admission'].advice.endswith('run nova-rt-compute as root')


def test_a_cap_over_what_the_kernels_servers_leave_is_a_warning(unlimited):
    row = examine(fake_scheduler.FakeScheduler(proc=unlimited),
                  bandwidth.BW_UNIT)['kernel servers']
    assert (row.verdict, row.found) == (
        finding.WARNING, 'beside the kernel\'s own servers, 95% of a pCPU can be reserved, less '
        'than [rt] cap, 100%')


def test_a_kernel_that_ends_turns_at_a_tick_is_a_warning(
        unlimited, features, monkeypatch):
    features.write_text('NO_HRTICK_DL')
    monkeypatch.setattr(granularity, 'tick_us', lambda: 4_000)
    row = examine(fake_scheduler.FakeScheduler(proc=unlimited))['turns']
    assert row.verdict == finding.WARNING
    assert 'up to 4000 µs late' in row.found
    assert row.advice.startswith(
        f'enable nova-rt-turns.service, which writes HRTICK_DL to {features} ')


def test_a_kernel_whose_timers_end_at_ticks_is_a_warning(unlimited, monkeypatch):
    monkeypatch.setattr(time, 'clock_getres', lambda clock: 0.004)
    row = examine(fake_scheduler.FakeScheduler(proc=unlimited))['turns']
    assert row.verdict == finding.WARNING
    assert row.advice.startswith('boot with high resolution timers')


@pytest.mark.parametrize(('name', 'value'), [('min', 1000), ('max', 100_000)])
def test_narrower_limits_of_periods_are_a_warning(unlimited, name, value):
    (unlimited / f'sys/kernel/sched_deadline_period_{name}_us').write_text(str(value))
    row = examine(fake_scheduler.FakeScheduler(proc=unlimited))['periods']
    assert (row.verdict, row.advice) == (
        finding.WARNING, 'set kernel.sched_deadline_period_min_us to 100, and '
        'kernel.sched_deadline_period_max_us to 4194304')


@pytest.mark.parametrize(('name', 'cmdline', 'verdict'), [
    ('jackd', b'jackd\0', finding.WARNING), ('CPU 0/KVM', b'qemu\0', None),
    ('sugov:0', b'', None)])
def test_other_deadline_threads_are_a_warning(unlimited, name, cmdline, verdict):
    kernel = fake_scheduler.FakeScheduler(proc=unlimited)
    thread, = kernel.start(1, name)
    kernel.pin(thread, 0)
    kernel.write(thread, attributes.Attributes(
        6, 1, runtime_ns=10 ** 6, deadline_ns=10 ** 7, period_ns=10 ** 7))
    task = unlimited / f'{thread}/task/{thread}'
    task.mkdir(parents=True)
    (task / 'cmdline').write_bytes(cmdline)
    row = examine(kernel).get('foreign threads')
    assert (row and row.verdict) == verdict
