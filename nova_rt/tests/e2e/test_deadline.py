# SPDX-License-Identifier: Apache-2.0
"""SCHED_DEADLINE of this machine's kernel, for threads of processes of our own."""

import os
import pathlib
import subprocess
import sys
import time

import pytest

from nova_rt import ledger
from nova_rt import reservation
from nova_rt.testing import rt_sysctl
from nova_rt.virt import cpus
from nova_rt.virt.deadline import admission
from nova_rt.virt.deadline import attributes
from nova_rt.virt.deadline import errors
from nova_rt.virt.deadline import scheduler
from nova_rt.virt.deadline import threads

SYSCTL = pathlib.Path('/proc/sys/kernel/sched_rt_runtime_us')
BURN = 'while True: pass'

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason='needs root')


@pytest.fixture
def kernel():
    return scheduler.Scheduler()


@pytest.fixture
def unlimited():
    with rt_sysctl.admission_off():
        yield


@pytest.fixture
def start(request):
    """Start processes that burn CPU, or what else; they end with the test."""
    started = []

    def start(count, *command):
        processes = [subprocess.Popen(command or (sys.executable, '-c', BURN))
                     for _ in range(count)]
        started.extend(processes)
        return [process.pid for process in processes]

    yield start
    for process in started:
        process.kill()
        process.wait()


def holding(runtime_us, period_us, *pcpus):
    return ledger.Holding(
        reservation.Reservation(runtime_us, period_us, len(pcpus)), pcpus)


def wanted(kernel, pids, held):
    return threads.wanted(threads.present(kernel, pids), held)


def used_s(pid):
    return int(pathlib.Path(f'/proc/{pid}/schedstat').read_text().split()[0]) / 1e9


def test_the_kernel_takes_gives_back_and_clears_a_reservation(unlimited, start, kernel):
    pid, = start(1, 'sleep', '60')
    before = kernel.read(pid)
    wanted = attributes.of_reservation(reservation.Reservation(30_000, 100_000, 1))
    kernel.pin(pid, 0)
    kernel.write(pid, wanted)
    assert (kernel.read(pid), kernel.affinity(pid)) == (wanted, {0})
    kernel.write(pid, before)
    assert kernel.read(pid) == before
    assert before.bandwidth == 0


def test_a_pinned_thread_is_refused_where_the_kernel_admits_by_root_domain(start, kernel):
    if SYSCTL.read_text().startswith('-') or len(cpus.online()) < 2:
        pytest.skip('this kernel admits pinned threads')
    with pytest.raises(errors.RefusalError, match=r'set kernel\.sched_rt_runtime_us to -1'):
        admission.detect(kernel, cpus.online())


def test_the_limit_is_set_again_although_former_deadline_threads_are_counted(start, kernel):
    before = SYSCTL.read_text()
    with rt_sysctl.admission_off():
        pids = start(2 * len(cpus.online()), 'sleep', '60')
        time.sleep(0.3)  # until they sleep
        for pid in pids:
            kernel.write(pid, attributes.of_reservation(
                reservation.Reservation(900_000, 1_000_000, 1)))
            kernel.write(pid, attributes.Attributes())
    assert SYSCTL.read_text() == before


def test_without_the_limit_the_ledger_admits(unlimited, kernel):
    assert admission.detect(kernel, cpus.online()) is admission.Admission.LEDGER


@pytest.mark.parametrize('times', [(1000, 100_000), (200_000, 100_000), (0, 0)])
def test_the_kernel_refuses_what_the_stand_in_refuses(unlimited, start, kernel, times):
    pid, = start(1, 'sleep', '60')
    with pytest.raises(errors.RefusalError, match='EINVAL'):
        kernel.write(pid, attributes.Attributes(
            6, 1, runtime_ns=times[0], deadline_ns=times[1], period_ns=times[1]))


def test_a_process_without_the_capability_is_advised_to_run_as_root(unlimited, start):
    pid, = start(1, 'sleep', '60')
    code = (f'from nova_rt import reservation\n'
            f'from nova_rt.virt.deadline import attributes, scheduler\n'
            f'import os; os.setuid(65534)\n'
            f'scheduler.Scheduler().write({pid}, attributes.of_reservation('
            f'reservation.Reservation(30_000, 100_000, 1)))\n')
    ran = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                         env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'})
    assert 'lacks CAP_SYS_NICE: run nova-rt-compute as root' in ran.stderr


def test_a_thread_that_has_ended_leaves_the_others_as_they_were(unlimited, start, kernel):
    pids = start(2, 'sleep', '60')
    gone, = start(1, 'true')
    os.waitid(os.P_PID, gone, os.WEXITED)
    before = threads.present(kernel, pids)
    with pytest.raises(ProcessLookupError):
        threads.apply(kernel, [*wanted(kernel, pids, holding(30_000, 100_000, 0, 1)),
                               threads.Setting(gone, frozenset({0}), before[0].attributes)])
    assert threads.present(kernel, pids) == before


def test_a_change_that_the_kernel_refuses_leaves_all_threads_as_they_were(
        unlimited, start, kernel):
    pids = start(2, 'sleep', '60')
    settings = wanted(kernel, pids, holding(30_000, 100_000, 0, 1))
    threads.apply(kernel, settings)
    more = wanted(kernel, pids, holding(60_000, 100_000, 0, 1))
    invalid = threads.Setting(pids[1], more[1].pcpus, attributes.Attributes(6, 1))
    with pytest.raises(errors.RefusalError):
        threads.apply(kernel, [more[0], invalid])
    assert threads.present(kernel, pids) == settings


def test_threads_get_what_they_hold_also_beside_a_real_time_hog(unlimited, start, kernel):
    """Within 0.3 points over 10 s, and never less by more in the hog's company."""
    if len(cpus.online()) < 2:
        pytest.skip('needs two CPUs')
    pids = start(2)
    threads.apply(kernel, wanted(kernel, pids[:1], holding(30_000, 100_000, 0)))
    threads.apply(kernel, wanted(kernel, pids[1:], holding(40_000, 200_000, 1)))
    # It counts down by itself: on its pCPU nothing else might end it.
    hog, = start(1, 'chrt', '-f', '50', sys.executable, '-c',
                 'import time\nend = time.monotonic() + 12\n'
                 'while time.monotonic() < end: pass')
    kernel.pin(hog, 0)
    time.sleep(0.5)
    before, since = [used_s(pid) for pid in pids], time.monotonic()
    time.sleep(10)
    after, wall = [used_s(pid) for pid in pids], time.monotonic() - since
    measured = [100 * (new - old) / wall
                for old, new in zip(before, after, strict=True)]
    print(measured)
    assert measured == [pytest.approx(30, abs=0.3), pytest.approx(20, abs=0.3)]
