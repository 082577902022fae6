# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import time

import psutil
import pytest

from stack import processes
from stack import rundir

FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
print(flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.fixture
def process():
    with subprocess.Popen((sys.executable, '-c', FIRST_THREAD_ENDS),
                          stdout=subprocess.PIPE) as started:
        started.stdout.readline()
        yield started
        started.kill()


@pytest.fixture
def stack(tmp_path):
    """The processes of a run directory, stopped at the end."""
    directory = rundir.RunDir(tmp_path)
    directory.create()
    started = processes.Processes(directory)
    yield started
    started.stop(started.names())
    started.stop_marked()


def test_a_process_whose_first_thread_has_ended_is_alive(process):
    while (alive := processes.is_alive(process.pid)) and (
            psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE):
        pass
    assert alive
    assert processes.is_alive(process.pid)


def test_a_zombie_is_no_process(process):
    process.kill()
    while processes.is_alive(process.pid):
        pass
    assert process.poll() is not None


def test_nothing_is_known_of_a_process_that_has_ended(process):
    process.kill()
    process.wait()
    assert processes.command_line(process.pid) == []
    assert processes.pss_kib(process.pid) == 0


def marked(stack):
    """Return who has the mark, of whom there is somebody.

    While a process executes a program, the kernel shows no environment of it for a moment.
    """
    for _ in range(100):
        if found := stack.marked():
            return found
        time.sleep(0.1)
    return []


def test_a_process_is_found_by_its_session_and_by_its_mark(stack):
    process = stack.start('sleeper', ['sleep', '60'])
    assert stack.members(['sleeper']) == [process.pid]
    assert marked(stack) == [process.pid]
    assert processes.command_line(process.pid) == ['sleep', '60']
    assert processes.pss_kib(process.pid) > 0


def test_a_process_that_left_its_session_is_found_by_its_mark(stack):
    stack.run('daemon', ['setsid', '--fork', 'sleep', '60'])
    assert stack.members(['daemon']) == []
    [pid] = marked(stack)
    stack.stop_marked()
    assert not processes.is_alive(pid)


def test_a_pid_that_another_process_took_is_not_in_the_session(stack, tmp_path):
    process = stack.start('sleeper', ['sleep', '60'])
    directory = rundir.RunDir(tmp_path)
    directory.write_json(
        directory.processes / 'sleeper.json', {'pid': process.pid, 'start': 0})
    assert stack.members(['sleeper']) == []


def test_a_stopped_process_has_no_record(stack):
    process = stack.start('sleeper', ['sleep', '60'])
    stack.stop(['sleeper'])
    assert not processes.is_alive(process.pid)
    assert stack.names() == []
