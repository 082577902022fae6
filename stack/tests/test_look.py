# SPDX-License-Identifier: Apache-2.0
"""What a node waits for before it looks at its containers."""

import types

import pytest

from stack.nodes import look

RUNTIMES_US = (8_000, 0, 8_000)


class Node:
    """Two containers; each sleep of the program, a pCPU of the second has its runtime."""

    def __init__(self):
        self.used = {'one': [8_000, 0, 8_000], 'two': [0, 0, 0]}
        self.slept = 0.0
        self.due = [0, 2]
        self.spoken = types.SimpleNamespace(
            tree=self, read=lambda group: types.SimpleNamespace(runtimes_us=RUNTIMES_US))

    def read(self, group, name):
        assert name == 'cpu.rt_stat'
        return ''.join(f'cpu{pcpu} used_usec={used} nr=1\n'
                       for pcpu, used in enumerate(self.used[group]))

    def sleep(self, seconds):
        self.slept += seconds
        if self.due:
            self.used['two'][self.due.pop()] = 8_000


@pytest.fixture
def node(monkeypatch):
    node = Node()
    monkeypatch.setattr(look, 'groups', lambda: (
        node.spoken, {f'instance-{name}': name for name in node.used}))
    monkeypatch.setattr(look.time, 'sleep', node.sleep)
    monkeypatch.setattr(look.time, 'monotonic', lambda: node.slept)
    return node


def test_hogs_are_waited_for_until_each_has_run_on_each_of_its_pcpus(node):
    look.wait_for_hogs()
    assert node.used['two'] == [8_000, 0, 8_000]


def test_a_hog_that_never_runs_is_said(node):
    node.due = [2]
    with pytest.raises(SystemExit, match='on every pCPU of instance-two'):
        look.wait_for_hogs()
