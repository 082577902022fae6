# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and refusals: who gives what back."""

import os
import signal
import types

import pytest

from demo import embedded
from demo import frame
from demo import shell
from stack import errors
from stack import prerequisites
from stack import tempest


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
    monkeypatch.setattr(tempest.prerequisites,
                        'missing_for_containers', lambda: '')
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
    with pytest.raises(shell.DemoError) as refusal:
        LeftOver(story).run()
    assert str(refusal.value) == said


def test_the_real_demo_says_that_it_needs_control_groups_of_version_1(
        monkeypatch):
    monkeypatch.setattr(prerequisites.host, 'check', lambda: None)
    monkeypatch.setattr(prerequisites.kernel, 'spoken', lambda: types.SimpleNamespace(
        tree=types.SimpleNamespace(version=2)))
    assert 'of version 1' in prerequisites.missing_for_containers()
