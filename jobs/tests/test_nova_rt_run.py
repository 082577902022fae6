# SPDX-License-Identifier: Apache-2.0
"""nova-rt-run, and programs that know nothing of it."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from nova_rt.monitor import record
from nova_rt.testing import jobs
from nova_rt.testing import retries

pytestmark = retries.ONCE

# Longer than a busy machine may hold up a job by itself.
LONG = '5s'
PATIENCE_S = 30


@pytest.fixture
def command(built):
    return built / 'bin' / 'nova-rt-run'


@pytest.fixture
def run(command, folder):
    def of(*arguments, **more):
        return subprocess.run((command, *arguments), capture_output=True, text=True,
                              timeout=60, **more)
    return of


def until(condition):
    """Return what is true at last; a record may be missing, or be written just now."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError, record.RecordError):
            if result := condition():
                return result
        time.sleep(0.01)
    return pytest.fail('It has not become true.')


@pytest.mark.parametrize('how', ['nanosleep', 'realtime', 'timerfd', 'threads', 'daemon'])
def test_jobs_last_from_one_wait_to_the_next(run, program, told, how):
    done = run('--period', '20ms', '--deadline', LONG, '--', program('periodic'), how, '10')
    assert done.stdout == 'done\n'
    # A thread's wait has no job before the first, and the last one does not end.
    assert told('periodic').jobs == 10
    assert told('periodic').misses == 0


@pytest.mark.parametrize('how', ['nanosleep', 'realtime', 'timerfd'])
def test_a_job_that_takes_longer_than_its_deadline_is_a_miss(run, program, told, how):
    run('--period', '20ms', '--deadline', '25000', '--name', 'arm', '--',
        program('periodic'), how, '10', '5')
    found = told('arm')
    assert found.jobs == 10
    assert found.misses >= 1
    assert found.worst_response_ns >= 30_000_000
    assert (found.period_ns, found.deadline_ns) == (20_000_000, 25_000_000)


def test_the_deadline_is_the_period_if_not_given(run, program, told):
    run('--period', '20ms', program('periodic'), 'nanosleep', '1')
    assert told('periodic').deadline_ns == 20_000_000


def test_a_job_that_hangs_is_reported_while_it_does(command, program, folder, told):
    with jobs.running(command, '--period', '20ms', '--deadline', '50ms', '--',
                      program('periodic'), 'hang', '9', '3'):
        until(lambda: told('periodic').jobs == 2)
        found = until(lambda: (found := told('periodic')).reported_ns
                      > found.began_ns + found.deadline_ns and found)
        assert found.began_ns > 0


def test_a_program_that_is_stopped_is_reported(command, program, folder, told):
    with jobs.running(command, '--period', '20ms', '--deadline', '50ms', '--',
                      program('periodic'), 'nanosleep', '999999') as process:
        until(lambda: told('periodic').jobs > 2)
        process.send_signal(signal.SIGSTOP)
        # It was going to run: its next job was announced before it waited.
        stopped = time.monotonic_ns()
        until(lambda: told('periodic').reported_ns > stopped)


def test_the_program_keeps_its_process_and_status(command, program, folder):
    with subprocess.Popen((command, '--period', '1s', 'sh', '-c', 'echo $$'),
                          stdout=subprocess.PIPE, text=True) as process:
        assert int(process.stdout.read()) == process.pid
    done = subprocess.run((command, '--period', '20ms', program('periodic'), 'nanosleep', '1'),
                          capture_output=True)
    assert done.returncode == 7


def test_a_signal_reaches_the_program(command, folder):
    with jobs.running(command, '--period', '1s', 'sleep', '60') as process:
        comm = pathlib.Path(f'/proc/{process.pid}/comm')
        until(lambda: comm.read_text() == 'sleep\n')
        process.terminate()
        assert process.wait() == -signal.SIGTERM


def test_its_guard_ends_with_the_program(command, folder):
    # It would keep the pipe open otherwise.
    began = time.monotonic()
    done = subprocess.run((command, '--period', '1s', 'echo', 'here'), capture_output=True)
    assert done.stdout == b'here\n'
    until(lambda: guards(folder) == [])
    assert time.monotonic() - began < PATIENCE_S


def test_its_guard_is_not_on_the_budget_of_the_reservation(as_root, command, folder):
    with jobs.running('chrt', '--fifo', '10', command, '--period', '1s', 'sleep', '60',
                      stderr=subprocess.PIPE) as process:
        until(lambda: guards(folder) or process.poll() is not None)
        if process.poll() is not None:
            pytest.skip(process.stderr.read())
        guard, = guards(folder)
        until(lambda: os.sched_getscheduler(int(guard)) == os.SCHED_OTHER)
        assert os.sched_getscheduler(process.pid) == os.SCHED_FIFO


def guards(folder):
    """Return the processes that have a file in the folder open."""
    found = []
    for process in os.listdir('/proc'):
        try:
            links = [os.readlink(f'/proc/{process}/fd/{fd}')
                     for fd in os.listdir(f'/proc/{process}/fd')]
        except OSError:
            continue
        found += [process for link in links if link.startswith(str(folder))]
    return found


def test_a_shell_script_may_start_the_program(run, program, told):
    run('--period', '20ms', '--deadline', LONG, '--name', 'arm', 'sh', '-c',
        f'{program("periodic")} nanosleep 3; {program("periodic")} nanosleep 4')
    # The second takes over when the first has ended.
    assert told('arm').jobs == 7


def test_a_job_of_a_program_that_was_killed_does_not_hang(command, program, folder, told):
    script = f'{program("periodic")} hang 9 3 & echo $!; wait; exec sleep 60'
    with jobs.running(command, '--period', '20ms', '--deadline', LONG, '--name', 'arm',
                      'sh', '-c', script, stdout=subprocess.PIPE) as process:
        hangs = int(process.stdout.readline())
        until(lambda: told('arm').jobs == 2)
        os.kill(hangs, signal.SIGKILL)
        until(lambda: told('arm').began_ns == 0)
        assert told('arm').reported_ns == 0


def test_two_of_one_name_have_records_of_their_own(command, program, folder, told):
    start = (command, '--period', '20ms', '--deadline', LONG, '--', program('periodic'),
             'nanosleep', '50')
    with (subprocess.Popen(start, stdout=subprocess.DEVNULL),
          subprocess.Popen(start, stdout=subprocess.DEVNULL)):
        pass
    assert told('periodic').jobs == told('periodic.1').jobs == 50


def test_where_nothing_can_be_reported_the_program_runs_with_a_sentence(
        run, program, monkeypatch, tmp_path):
    monkeypatch.setenv(jobs.FOLDER_VARIABLE, str(tmp_path / 'missing'))
    done = run('--period', '20ms', program('periodic'), 'nanosleep', '1')
    assert done.stdout == 'done\n'
    assert done.stderr == ('nova-rt-run: Misses are not reported: '
                           'No such file or directory.\n')


@pytest.fixture
def with_deadline(run):
    done = run('--period', '20ms', '--runtime', '2ms', 'true')
    if done.returncode:
        pytest.skip(done.stderr)


def test_with_a_runtime_it_runs_under_sched_deadline(with_deadline, run):
    done = run('--period', '20ms', '--deadline', '15ms', '--runtime', '2ms',
               'sh', '-c', 'chrt -p $$; chrt -p $$ | grep -c DEADLINE')
    assert re.search(r'runtime/deadline/period parameters: 2000000/15000000/20000000',
                     done.stdout)


def test_jobs_under_sched_deadline_end_where_they_yield(with_deadline, run, program, told):
    done = run('--period', '20ms', '--runtime', '2ms', program('periodic'), 'yield', '10')
    assert done.stdout == 'done\n'
    assert told('periodic').jobs == 10


def test_overruns_of_the_runtime_are_counted(with_deadline, run, program, told):
    run('--period', '20ms', '--runtime', '8ms', program('periodic'), 'yield', '10', '5')
    # 30 ms of work take four periods. The kernel sends the signal at a tick, of which
    # there is one in 4 ms or so: of a shorter runtime it might send none.
    assert told('periodic').overruns >= 1
    assert told('periodic').misses >= 1


@pytest.mark.parametrize(('arguments', 'sentence'), [
    ((), "Give the program's period by --period; see --help."),
    (('true',), "Give the program's period by --period; see --help."),
    (('--period', '1ms'), 'Give a program after --; see --help.'),
    (('--period',), '--period needs a value; see --help.'),
    (('--perod', '1ms', 'true'), 'There is no option --perod; see --help.'),
    (('-x', 'true'), 'There is no option -x; see --help.'),
    (('--period', '1m', 'true'),
     "--period takes microseconds, or a number with us, ms or s, not '1m'."),
    (('--period', '-1', 'true'),
     "--period takes microseconds, or a number with us, ms or s, not '-1'."),
    (('--period', 'inf', 'true'),
     "--period takes microseconds, or a number with us, ms or s, not 'inf'."),
    (('--period', '', 'true'),
     "--period takes microseconds, or a number with us, ms or s, not ''."),
    (('--period', '0', 'true'), "--period must be between 1 us and an hour, not '0'."),
    (('--period', '9999s', 'true'), "--period must be between 1 us and an hour, not '9999s'."),
    (('--period', '9ms', '--runtime', '10ms', 'true'),
     'The runtime must not be longer than the deadline.'),
    (('--period', '9ms', '--deadline', '10ms', '--runtime', '1ms', 'true'),
     'With --runtime, the deadline must not be longer than the period.'),
    (('--period', '9ms', 'no-such-program'), "There is no program 'no-such-program'."),
    (('--period', '9ms', '/no/such'), '/no/such cannot be run: No such file or directory.'),
    (('--period', '9ms', jobs.SOURCES / 'Makefile'),
     f'{jobs.SOURCES}/Makefile cannot be run: Permission denied.'),
    (('--period', '9ms', '/etc'), '/etc cannot be run: it is not a file.'),
    (('--period', '9ms', '--name', 'a b', 'true'),
     "'a b' is no name for an activity: give one of up to 59 letters, digits, '-', '_' and "
     "'.' by --name."),
])
def test_what_is_wrong_is_said_in_one_sentence(run, arguments, sentence):
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (125, f'nova-rt-run: {sentence}\n')


def test_help_names_the_options(run):
    done = run('--help')
    assert done.returncode == 0
    assert re.findall(r'^  (--\w+)', done.stdout, re.MULTILINE) == [
        '--period', '--deadline', '--runtime', '--name']


def test_a_runtime_that_the_kernel_refuses_is_said(run, with_deadline):
    done = run('--period', '20us', '--runtime', '10us', 'true')
    assert (done.returncode, done.stderr) == (
        125, 'nova-rt-run: SCHED_DEADLINE is refused: the kernel admits no such runtime, '
             'deadline and period.\n')


def test_without_the_privilege_that_is_said(as_root, built, folder):
    # Where nobody may enter.
    folder.chmod(0o1777)
    for part in ('bin', 'lib'):
        shutil.copytree(built / part, folder / 'copy' / part)
    done = subprocess.run(
        (folder / 'copy' / 'bin' / 'nova-rt-run', '--period', '20ms', '--runtime', '2ms', 'true'),
        capture_output=True, text=True, user=65534)
    assert (done.returncode, done.stderr) == (
        125, 'nova-rt-run: SCHED_DEADLINE is refused: it needs the privilege (CAP_SYS_NICE), '
             'and all CPUs of its CPU set.\n')


def test_a_static_program_is_refused(run, built):
    source = built / 'static.c'
    shutil.copy(jobs.SOURCES / 'tests' / 'periodic.c', source)
    static = jobs.compile_program(built, source, '-static')
    done = run('--period', '20ms', static, 'nanosleep', '1')
    assert done.stderr == (
        f'nova-rt-run: {static} is statically linked, so nothing can be preloaded into it: '
        'build it with libnova-rt-jobs.a and nova_rt_jobs.h.\n')


def test_a_program_that_changes_its_user_is_refused(as_root, run, program, built):
    other = built / 'other-user'
    shutil.copy(program('periodic'), other)
    os.chown(other, 65534, -1)
    other.chmod(0o4755)
    done = run('--period', '20ms', other, 'nanosleep', '1')
    assert 'changes its user or group, so nothing can be preloaded' in done.stderr


def test_other_preloaded_libraries_stay(run, built, monkeypatch):
    other = built / 'lib' / 'libnova-rt-jobs.so.1'
    monkeypatch.setenv('LD_PRELOAD', str(other))
    done = run('--period', '1s', 'sh', '-c', 'echo $LD_PRELOAD')
    assert done.stdout.endswith(f'/libnova-rt-run.so:{other}\n')
