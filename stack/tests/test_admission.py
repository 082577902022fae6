# SPDX-License-Identifier: Apache-2.0
"""kernel.sched_rt_runtime_us is set back however the stack ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from stack import admission

PROGRAM = """
import pathlib, sys
from stack import admission
admission.SYSCTL, admission.LOCK = map(pathlib.Path, sys.argv[3:5])
admission.main()
"""


@pytest.fixture
def keeper(tmp_path):
    """Start a keeper of a value in a file, for the process with this id."""
    started = []

    def keeper(launcher):
        (tmp_path / 'sysctl').write_text('950000\n')
        process = subprocess.Popen([
            sys.executable, '-c', PROGRAM, str(tmp_path), str(launcher),
            str(tmp_path / 'sysctl'), str(tmp_path / 'lock')])
        started.append(process)
        wait(lambda: (tmp_path / admission.SET).exists())
        return process
    yield keeper
    for process in started:
        process.kill()
        process.wait()


def wait(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def value(tmp_path):
    return (tmp_path / 'sysctl').read_text()


def test_it_is_set_while_the_keeper_runs_and_back_when_it_is_terminated(keeper, tmp_path):
    process = keeper(os.getpid())
    assert value(tmp_path) == '-1\n'
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    assert value(tmp_path) == '950000\n'


def test_it_is_set_back_when_the_launcher_is_killed(keeper, tmp_path):
    with subprocess.Popen(['sleep', '600']) as launcher:
        process = keeper(launcher.pid)
        launcher.kill()
        launcher.wait()
    process.wait(60)
    assert value(tmp_path) == '950000\n'


def test_it_outlives_a_launcher_that_leaves_the_stack_running(keeper, tmp_path):
    with subprocess.Popen(['sleep', '600']) as launcher:
        process = keeper(launcher.pid)
        (tmp_path / admission.KEPT).touch()
        launcher.kill()
        launcher.wait()
    time.sleep(1.5)
    assert (process.poll(), value(tmp_path)) == (None, '-1\n')
