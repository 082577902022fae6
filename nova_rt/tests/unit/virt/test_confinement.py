# SPDX-License-Identifier: Apache-2.0
"""Real threads of this machine; groups are folders that a test writes."""

import errno
import os
import subprocess
import sys
import threading

import pytest

from nova_rt.virt import confinement
from nova_rt.virt import cpus
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import tree

GROUP = 'machine/web'

pytestmark = pytest.mark.skipif(len(cpus.online()) < 2, reason='needs two CPUs')


@pytest.fixture
def threads():
    """Processes that only sleep."""
    processes = []

    def start(pcpus):
        process = subprocess.Popen(['/bin/sleep', '60'])
        processes.append(process)
        os.sched_setaffinity(process.pid, pcpus)
        return process.pid
    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def groups(tmp_path):
    """A container's group, and one inside it."""
    (tmp_path / GROUP / 'inner').mkdir(parents=True)
    for group in (GROUP, f'{GROUP}/inner'):
        (tmp_path / group / 'tasks').write_text('')
    return tree.CgroupTree(tmp_path, 1)


class Files(tree.CgroupTree):
    """Control files that are files: a kernel's takes the text as a whole."""

    def write(self, group, name, text):
        (self.root / group / name).write_text(text)


@pytest.fixture
def cpusets(tmp_path):
    folder = tmp_path / 'cpusets' / GROUP
    folder.mkdir(parents=True)
    (folder / 'cpuset.cpus').write_text('0\n')
    return Files(tmp_path / 'cpusets', 1)


def fill(groups, outer, inner=()):
    for group, threads in ((GROUP, outer), (f'{GROUP}/inner', inner)):
        (groups.root / group / 'tasks').write_text(''.join(f'{each}\n' for each in threads))


def cpuset(cpusets):
    return (cpusets.root / GROUP / 'cpuset.cpus').read_text().strip()


def test_cpuset_and_threads_go_to_the_other_pcpu(groups, cpusets, threads):
    pids = [threads({0}), threads({0})]
    fill(groups, pids[:1], pids[1:])
    confinement.Confinement(groups, cpusets).move(GROUP, frozenset({0}), frozenset({1}))
    assert cpuset(cpusets) == '1'
    assert [os.sched_getaffinity(pid) for pid in pids] == [{1}, {1}]


def test_a_thread_keeps_the_pcpu_that_it_chose_itself(groups, threads):
    stays, free = threads({1}), threads({0, 1})
    fill(groups, [stays, free])
    confinement.Confinement(groups, None).move(GROUP, frozenset({0, 1}), frozenset({1}))
    assert [os.sched_getaffinity(pid) for pid in (stays, free)] == [{1}, {1}]


@pytest.mark.parametrize(('affinity', 'mapped'), [
    ({0}, {2}), ({1}, {1}), ({0, 1}, {1, 2}), ({5}, {1, 2})])
def test_what_had_the_pcpu_that_goes_has_the_one_that_comes(affinity, mapped):
    assert confinement._mapped(
        frozenset(affinity), frozenset({0, 1}), frozenset({1, 2})) == mapped


def test_what_undoes_a_move_gives_back_the_pcpu_that_was_left():
    both, old = frozenset({0, 1, 3}), frozenset({0, 1})
    assert [confinement._mapped(frozenset(had), both, old) for had in (
        {0, 3}, {3}, {0, 1})] == [old, old, old]


def test_a_group_of_the_containers_own_that_goes_meanwhile_is_passed_over(groups, threads):
    pid = threads({0})
    fill(groups, [pid])
    (groups.root / GROUP / 'inner' / 'tasks').unlink()
    confinement.Confinement(groups, None).move(GROUP, frozenset({0}), frozenset({1}))
    assert os.sched_getaffinity(pid) == {1}


def test_a_container_that_confines_its_threads_itself_is_told(groups, threads, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EINVAL, 'Invalid argument')
    fill(groups, [threads({0})])
    monkeypatch.setattr(os, 'sched_setaffinity', refuse)
    with pytest.raises(confinement.ConfinedError, match=r'EINVAL.*by a cpuset of its own'):
        confinement.Confinement(groups, None).move(GROUP, frozenset({0}), frozenset({1}))


def test_a_thread_that_is_started_meanwhile_is_taken_along(groups, threads, monkeypatch):
    first, late = threads({0}), threads({0})
    fill(groups, [first])
    looked = []
    find = os.sched_getaffinity

    def look(pid):
        looked.append(pid)
        if looked.count(first) == 3:  # before, and in both rounds
            fill(groups, [first, late])
        return find(pid)
    monkeypatch.setattr(os, 'sched_getaffinity', look)
    confinement.Confinement(groups, None).move(GROUP, frozenset({0}), frozenset({1}))
    assert os.sched_getaffinity(late) == {1}


def test_a_container_that_rebooted_itself_is_confined_again(groups, cpusets, threads):
    pid = threads({0})
    fill(groups, [pid])
    confined = confinement.Confinement(groups, cpusets)
    confined.follow(GROUP, frozenset({0}))
    assert (cpuset(cpusets), os.sched_getaffinity(pid)) == ('0', {0})
    confined.follow(GROUP, frozenset({1}))
    assert (cpuset(cpusets), os.sched_getaffinity(pid)) == ('1', {1})


def test_without_a_cpuset_of_its_own_nothing_is_followed(groups, threads):
    pid = threads({0})
    fill(groups, [pid])
    confinement.Confinement(groups, None).follow(GROUP, frozenset({1}))
    assert os.sched_getaffinity(pid) == {0}


def test_threads_that_cannot_be_seen_are_told_before_anything_changes(groups, cpusets):
    fill(groups, [0])
    with pytest.raises(confinement.UnseenError, match="in the host's pid namespace"):
        confinement.Confinement(groups, cpusets).move(GROUP, frozenset({0}), frozenset({1}))
    assert cpuset(cpusets) == '0'


def test_threads_that_have_ended_are_passed_over(groups):
    ended = subprocess.run([sys.executable, '-c', 'import os; print(os.getpid())'],
                           capture_output=True, text=True, check=True).stdout
    fill(groups, [ended.strip()])
    confinement.Confinement(groups, None).move(GROUP, frozenset({0}), frozenset({1}))


def test_a_group_that_has_gone_is_told(groups):
    with pytest.raises(errors.MissingControlFileError):
        confinement.Confinement(groups, None).move('machine/gone', frozenset({0}), frozenset({1}))


def test_threads_that_go_back_all_the_time_are_told(groups, monkeypatch):
    own = threading.get_native_id()
    before = os.sched_getaffinity(own)
    os.sched_setaffinity(own, {0})
    fill(groups, [own])
    monkeypatch.setattr(os, 'sched_setaffinity', lambda *_: None)
    try:
        with pytest.raises(confinement.UnseenError, match='try again when it does less'):
            confinement.Confinement(groups, None).move(
                GROUP, frozenset({0}), frozenset({1}))
    finally:
        monkeypatch.undo()
        os.sched_setaffinity(own, before)
