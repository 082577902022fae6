# SPDX-License-Identifier: Apache-2.0
"""This machine's kernel, in the tests that the stand-ins pass."""

import contextlib
import errno
import json
import os
import random
import subprocess
import sys
import time

import pytest

from nova_rt.testing import conformance
from nova_rt.testing import fake_kernel
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import dialect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import hcbs
from nova_rt.virt.cgroup import tree as cgroup_tree

TOP = f'nova-rt-conformance-{os.getpid()}'
# As little as shows everything: other groups of the machine lack it meanwhile.
MOST_US = 20_000


class RealPlayground(conformance.Playground):
    """A group of the real kernel, and processes in it."""

    tasks: dict[str, subprocess.Popen]

    def make(self, *names):
        """See base class; groups that have groups below them pass it on."""
        for name in names:
            above = self.tree.root / self.top / os.path.dirname(name)
            if self.tree.version == 2:
                (above / 'cgroup.subtree_control').write_text('+cpu')
            super().make(name)
        return [f'{self.top}/{name}' for name in names]

    def run_realtime(self, group):
        """See base class; the group is that of the process from its start."""
        task = subprocess.Popen([sys.executable, '-c', 'input()'],
                                stdin=subprocess.PIPE)
        self.tasks[group] = task
        try:
            (self.tree.root / group / 'cgroup.procs').write_text(str(task.pid))
            os.sched_setscheduler(task.pid, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            self.end_realtime(group)
            raise

    def end_realtime(self, group):
        """See base class."""
        task = self.tasks.pop(group)
        task.kill()
        task.communicate()

    def give_back(self):
        """Remove the groups from the bottom up; their budgets go with them."""
        for group in list(self.tasks):
            self.end_realtime(group)
        for path, _, _ in os.walk(self.tree.root / self.top, topdown=False):
            for _ in range(100):
                # A process that was killed is in its group for a moment.
                with contextlib.suppress(OSError):
                    os.rmdir(path)
                    break
                time.sleep(0.05)
        assert not self.tree.exists(self.top)


def dialects():
    """Return the dialects to test: None for what nova-rt finds.

    A kernel that speaks several takes the others as well, as ours on version 2.
    """
    tree = cgroup_tree.CgroupTree.find()
    if tree is None or not all(tree.has('', name) for name in (
            dialect.MULTI_RUNTIME, hcbs.MAX)):
        return [None]
    return [None, hcbs.HCBSList, hcbs.HCBSMax]


def dialect_here():
    """Return the dialect of this machine's kernel; skips without one."""
    if os.geteuid():
        pytest.skip('not root')
    count = os.sysconf('SC_NPROCESSORS_CONF')
    try:
        detected = detect.detect(cgroup_tree.CgroupTree.find(), count)
        if detected is not None:
            detected.admitted()
    except errors.CgroupError as exc:
        pytest.skip(str(exc))
    if detected is None:
        pytest.skip('the kernel has no real-time control groups')
    return detected


def named(kind):
    """Return what a dialect is called in a test's name."""
    return kind.name if kind else 'found'


found_only = pytest.mark.parametrize(
    'playground', [None], indirect=True, ids=named)


@pytest.fixture(params=dialects(), ids=named)
def playground(request):
    detected = dialect_here()
    if request.param:
        detected = request.param(detected.tree, detected.count)
    place = RealPlayground(detected, TOP, MOST_US)
    place.tasks = {}
    place.tree.make(TOP)
    try:
        try:
            # The kernel counts the groups of the test before for a moment.
            conformance.eventually(lambda: place.write(TOP, MOST_US))
        except errors.KernelRefusalError as exc:
            pytest.skip(f'other groups leave too little: {exc}')
        place.write(TOP, 0)
        yield place
    finally:
        place.give_back()


class TestRealKernel(conformance.Conformance):
    """All of them."""


@found_only
def test_random_writes_are_answered_as_the_stand_in_answers_them(playground):
    if playground.dialect.name != 'rt-group':
        pytest.skip(f'no stand-in writes {playground.dialect.name} alike')
    seed = int(os.environ.get('NOVA_RT_SEED', time.time_ns()))
    print(f'NOVA_RT_SEED={seed}')
    source = random.Random(seed)
    stand_in = fake_kernel.FakeKernel(playground.dialect.count)
    names = ['one', 'one/two', 'one/three', 'four']
    playground.make(*names)
    groups = [TOP, *(f'{TOP}/{name}' for name in names)]
    for group in groups:
        stand_in.make(group)
    for _ in range(2_000):
        group = source.choice(groups)
        name, text = source.choice([
            (dialect.RUNTIME, str(source.choice(
                [-1, 0, 1, 2, source.randrange(MOST_US)]))),
            (dialect.RUNTIME, str(source.randrange(MOST_US // 5))),
            (dialect.PERIOD, str(source.choice(
                [0, 1, 50_000, 300_000, 1_000_000, 4_194_304])))])
        # No more than the machine has to spare.
        if group == TOP and (name == dialect.PERIOD
                             or int(text) > MOST_US):
            continue
        answers = [answer(tree, group, name, text)
                   for tree in (playground.tree, stand_in)]
        assert answers[0] == answers[1], (group, name, text)
    for group in groups:
        for name in playground.dialect.files:
            assert playground.tree.read(group, name) == stand_in.read(
                group, name)


def answer(tree, group, name, text):
    try:
        tree.write(group, name, text)
    except errors.KernelRefusalError as refusal:
        return errno.errorcode[refusal.errno]
    return None


@found_only
def test_the_doctor_names_the_dialect_and_who_else_holds_a_budget(
        playground, tmp_path):
    playground.write(TOP, MOST_US)
    (tmp_path / 'nova.conf').write_text('[libvirt]\nvirt_type = lxc\n')
    done = subprocess.run(
        [os.path.join(sys.prefix, 'bin/nova-rt-manage'), '--config-file',
         tmp_path / 'nova.conf', 'host', 'probe', '-f', 'json'],
        capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(done.stdout)
    assert rows[0]['found'].startswith(f'{playground.dialect.name}: ')
    wrong = [row for row in rows if row['verdict'] == 'wrong']
    assert done.returncode == bool(wrong)
    assert any(f'/{TOP} holds 2% of every pCPU' in row['found']
               and row['check'] == 'foreign budget' for row in rows)
    assert not any('nova-rt-probe' in group
                   for group in playground.tree.children(''))
