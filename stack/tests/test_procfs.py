# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import pytest

from stack import procfs

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


def test_a_process_whose_first_thread_has_ended_is_alive(process):
    while (found := procfs.stat(process.pid)) and found.state != 'Z':
        pass
    assert found is not None


def test_a_zombie_is_no_process(process):
    process.kill()
    while procfs.stat(process.pid):
        pass
    assert process.poll() is not None
