# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and refusals: who gives what back."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import types

import pytest

from demo import embedded
from demo import frame
from demo import real
from demo import shell
from stack import errors
from stack import tempest

RUN_TESTS = pathlib.Path(__file__).parents[3] / 'tools' / 'run-tests'
TOX = """\
#!/bin/sh
trap 'echo given back >> {folder}/said; exit 1' INT
echo started >> {folder}/said
while :; do sleep 0.05; done
"""


@pytest.fixture
def interpreter(tmp_path):
    """An interpreter beside a stand-in for tox, which runs until SIGINT."""
    tox = tmp_path / 'tox'
    tox.write_text(TOX.format(folder=tmp_path))
    tox.chmod(0o755)
    python = tmp_path / 'python'
    python.symlink_to(sys.executable)
    return python


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_tests_that_are_interrupted_give_everything_back_first(
        interpreter, tmp_path, number):
    process = subprocess.Popen((interpreter, RUN_TESTS, 'unit'),
                               stdout=subprocess.PIPE, text=True)
    said = tmp_path / 'said'
    for _ in range(1000):
        if said.exists():
            break
        time.sleep(0.02)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert said.read_text().split('\n') == ['started', 'given back', '']
    assert (process.returncode, output) == (130, 'Interrupted.\n')


def test_tests_that_are_out_of_time_give_everything_back(
        interpreter, tmp_path):
    code = ('import runpy, time\n'
            f'run = runpy.run_path({str(RUN_TESTS)!r})["run"]\n'
            'print(run("unit", time.monotonic() + 1))')
    done = subprocess.run((interpreter, '-c', code), capture_output=True,
                          text=True, timeout=60)
    assert done.stdout == 'unit: out of time\n124\n'
    assert (tmp_path / 'said').read_text().endswith('given back\n')


def test_ctrl_c_does_not_interrupt_how_the_embedded_demo_ends():
    ended = []

    def stop(*_):
        os.kill(os.getpid(), signal.SIGINT)
        ended.append('processes')
    demo = types.SimpleNamespace(
        _site=types.SimpleNamespace(processes=types.SimpleNamespace(
            stop=stop, stop_marked=stop)),
        rundir=types.SimpleNamespace(
            discard=lambda: ended.append('directory')))
    embedded.EmbeddedDemo.down(demo)
    assert ended == ['processes', 'processes', 'directory']


def test_a_stack_that_is_refused_is_not_taken_down(
        monkeypatch, capsys, tmp_path):
    downs = []

    class Cloud:
        def __init__(self, site, report):
            pass

        def up(self):
            raise errors.StackError('A stack was already started.')

        def down(self):
            downs.append(self)
            return []
    monkeypatch.setattr(tempest, 'Cloud', Cloud)
    monkeypatch.setattr(tempest, 'JUNIT', tmp_path / 'tempest.xml')
    monkeypatch.setattr(tempest, 'interruptible', lambda: None)
    monkeypatch.setattr(tempest.real, 'why_not', lambda: '')
    monkeypatch.delenv('NOVA_RT_TEMPEST_RUN_DIR', raising=False)
    assert tempest.main([]) == 1
    assert capsys.readouterr().err == 'A stack was already started.\n'
    assert not downs


class LeftOver(frame.Demo):
    """Cannot give a group back; tells the story that it is given."""

    def __init__(self, story):
        super().__init__(None, False)
        self._story = story

    def introduce(self):
        """See base class."""

    up = how_to_reach = introduce

    def story(self):
        """See base class."""
        self._story()

    def down(self):
        """See base class."""
        return ['The group machine is left.']


def interrupted():
    raise KeyboardInterrupt


@pytest.mark.parametrize(('story', 'said'), [
    (lambda: None, 'The group machine is left.'),
    (interrupted, 'Interrupted.\nThe group machine is left.')])
def test_a_demo_that_leaves_something_says_so_and_fails(story, said):
    with pytest.raises(shell.DemoError) as why:
        LeftOver(story).run()
    assert str(why.value) == said


def test_the_real_demo_says_that_it_needs_control_groups_of_version_1(
        monkeypatch):
    monkeypatch.setattr(real.host, 'check', lambda: None)
    monkeypatch.setattr(real.kernel, 'spoken', lambda: types.SimpleNamespace(
        tree=types.SimpleNamespace(version=2)))
    assert 'of version 1' in real.why_not()
