# SPDX-License-Identifier: Apache-2.0
"""The kernel's answers and the stand-in's; this machine's kernel is in test_kernel."""

import errno
import platform

import pytest

from nova_rt import reservation
from nova_rt.testing import fake_scheduler
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import scheduler

HALF = attributes.of_reservation(reservation.Reservation(50_000, 100_000, 1))


def test_a_reservation_is_runtime_deadline_and_period_in_ns_and_resets_on_fork():
    assert attributes.Attributes(
        policy=6, flags=1, runtime_ns=50_000_000, deadline_ns=100_000_000,
        period_ns=100_000_000) == HALF
    assert str(HALF) == 'SCHED_DEADLINE with 50000 µs every 100000 µs'


def test_only_a_deadline_thread_has_bandwidth():
    assert HALF.bandwidth == 1 << 19
    assert attributes.Attributes(runtime_ns=1, period_ns=2).bandwidth == 0


@pytest.mark.parametrize(('number', 'capable', 'advice'), [
    (errno.EPERM, True, 'set kernel.sched_rt_runtime_us to -1'),
    (errno.EPERM, False, 'lacks CAP_SYS_NICE: run nova-rt-compute as root'),
    (errno.EBUSY, True, 'up to its limit there: end the threads'),
    (errno.EINVAL, True, 'kernel.sched_deadline_period_min_us'),
    (errno.EIO, True, 'see the kernel log')])
def test_each_refusal_is_a_sentence_that_says_what_to_do(number, capable, advice):
    refusal = errors.refusal(7, str(HALF), number, capable)
    assert refusal.errno == number
    assert advice in str(refusal)
    assert str(refusal).startswith(
        'The kernel refused thread 7 SCHED_DEADLINE with 50000 µs every 100000 µs '
        f'({errno.errorcode[number]}): ')


@pytest.mark.parametrize(('number', 'advice'), [
    (errno.EINVAL, 'offline, or not in the cpuset'), (errno.EBUSY, 'restart its server')])
def test_a_refusal_to_pin_is_a_sentence_that_says_what_to_do(number, advice):
    assert advice in str(errors.pin_refusal(7, 3, number, True))
    assert 'pCPU 3' in str(errors.pin_refusal(7, 3, number, True))


def test_an_architecture_that_is_not_known_is_an_error_with_advice(monkeypatch):
    monkeypatch.setattr(platform, 'machine', lambda: 'm68k')
    with pytest.raises(errors.UnsupportedError, match='on m68k: use one of aarch64'):
        scheduler.Scheduler()


@pytest.mark.parametrize('ask', [
    lambda kernel: kernel.read(1), lambda kernel: kernel.write(1, HALF),
    lambda kernel: kernel.affinity(1), lambda kernel: kernel.pin(1, 0),
    lambda kernel: kernel.name(1)])
def test_a_thread_that_has_ended_is_reported(ask):
    with pytest.raises(ProcessLookupError, match='Thread 1 has ended'):
        ask(fake_scheduler.FakeScheduler())


@pytest.mark.parametrize(('runtime_ns', 'period_ns'), [
    (1023, 100_000), (100_001, 100_000), (50_000, 99_999),
    (50_000, (1 << 22) * 1000 + 1)])
def test_the_stand_in_refuses_what_the_kernel_s_limits_exclude(runtime_ns, period_ns):
    kernel = fake_scheduler.FakeScheduler()
    thread, = kernel.start(1)
    with pytest.raises(errors.RefusalError, match='EINVAL'):
        kernel.write(thread, attributes.Attributes(
            6, 1, runtime_ns=runtime_ns, deadline_ns=period_ns, period_ns=period_ns))


def test_the_stand_in_admits_a_pinned_thread_only_in_a_root_domain_of_its_pcpu():
    kernel = fake_scheduler.FakeScheduler(
        4, admits=True, domains=[frozenset({0, 1, 2}), frozenset({3})])
    thread, = kernel.start(1)
    kernel.pin(thread, 2)
    with pytest.raises(errors.RefusalError, match='EPERM'):
        kernel.write(thread, HALF)
    kernel.pin(thread, 3)
    kernel.write(thread, HALF)
    with pytest.raises(errors.RefusalError, match='EBUSY'):
        kernel.pin(thread, 2)
    second, = kernel.start(1)
    kernel.pin(second, 3)
    with pytest.raises(errors.RefusalError, match='EBUSY'):
        kernel.write(second, HALF)


def test_the_name_of_a_thread_is_not_taken_for_what_it_has(tmp_path):
    (tmp_path / 'self').mkdir()
    (tmp_path / 'self/sched').touch()
    (tmp_path / '7').mkdir()
    (tmp_path / '7/sched').write_bytes(
        b'\xff\ndl.runtime:x (7, #threads: 1)\n'
        b'dl.runtime                                   :              -400\n'
        b'dl.deadline                                  :              9000\n')
    assert scheduler.Scheduler(tmp_path).budget(7) == scheduler.Budget(-400, 9000)
