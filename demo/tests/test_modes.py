# SPDX-License-Identifier: Apache-2.0
"""Which demo runs where."""

import sys

import pytest

from demo import __main__ as program
from demo import embedded
from demo import machines
from demo import real
from demo import shell
from stack import prerequisites


@pytest.fixture
def chosen(monkeypatch):
    """Return which demo a mode runs, on a machine that lacks these kinds."""
    def chosen(mode, lacks=()):
        ran = []
        for name, room, class_ in (('container', real, 'RealDemo'), ('vm', machines, 'MachineDemo'),
                                   ('embedded', embedded, 'EmbeddedDemo')):
            class Demo:
                def __init__(self, *arguments, name=name):
                    self.ran = (name, *arguments[2:])

                def run(self):
                    ran.append(self.ran)
            monkeypatch.setattr(room, class_, Demo)
        for kind, function in (('container', 'missing_for_containers'),
                               ('vm', 'missing_for_machines')):
            monkeypatch.setattr(prerequisites, function, lambda kind=kind: (
                f'No {kind} here.' if kind in lacks else ''))
        monkeypatch.setattr(sys, 'argv', ['demo', '--mode', mode])
        program._run(program.parse())
        return ran
    return chosen


@pytest.mark.parametrize(('mode', 'lacks', 'demo'), [
    ('auto', (), ('container',)), ('auto', ('container',), ('vm',)),
    ('auto', ('vm',), ('container',)),
    ('auto', ('container', 'vm'), ('embedded', 'No container here. No vm here.')),
    ('vm', ('container',), ('vm',)), ('container', ('vm',), ('container',)),
    ('real', ('vm',), ('container',)), ('embedded', (), ('embedded', ''))])
def test_a_mode_runs_its_demo_and_auto_the_best_that_is_possible(chosen, mode, lacks, demo):
    assert chosen(mode, lacks) == [demo]


@pytest.mark.parametrize(('mode', 'kind'), [('vm', 'vm'), ('container', 'container'),
                                            ('real', 'container')])
def test_a_mode_that_is_not_possible_says_why(chosen, mode, kind):
    with pytest.raises(shell.DemoError, match=f'No {kind} here.'):
        chosen(mode, (kind,))
