# SPDX-License-Identifier: Apache-2.0
"""A controller is a shell that a test starts, and what it starts is the container's init."""

import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from nova_rt.virt import containers

CONTROLLER = '"$0" 600 & echo $!; wait'


@pytest.fixture(params=['sleep', '\udcff) S 1'])
def controller(request, tmp_path):
    """Start an init of either name; a process's is that of its program's file."""
    program = tmp_path / request.param
    program.symlink_to(shutil.which('sleep'))
    with subprocess.Popen(('sh', '-c', CONTROLLER, program), stdout=subprocess.PIPE,
                          text=True) as shell:
        init = int(shell.stdout.readline())
        yield shell.pid, init
        # The shell waits for no other.
        os.kill(init, signal.SIGKILL)


@pytest.fixture(params=[True, False])
def kernel(request, monkeypatch):
    """Stand in for a kernel with or without CONFIG_PROC_CHILDREN."""
    read_text = pathlib.Path.read_text

    def read(path, *args, **more):
        if path.name == 'children' and not request.param:
            raise FileNotFoundError
        return read_text(path, *args, **more)
    monkeypatch.setattr(pathlib.Path, 'read_text', read)


def test_it_is_the_controllers_child(kernel, controller):
    number, init = controller
    assert containers.first_process(number) == init


def test_without_a_child_the_container_has_ended(kernel, controller):
    _, init = controller
    with pytest.raises(ProcessLookupError, match='has no child'):
        containers.first_process(init)
