# SPDX-License-Identifier: Apache-2.0
import errno
import io
import os
import pathlib

import pytest

from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import tree


def proc_with(tmp_path: pathlib.Path, mounts: str, cgroup: str = ''):
    proc = tmp_path / 'proc'
    (proc / 'self').mkdir(parents=True)
    (proc / 'self/mounts').write_text(mounts)
    (proc / '7').mkdir()
    (proc / '7/cgroup').write_text(cgroup)
    return proc


def test_the_version_1_mount_of_the_cpu_controller_is_found(tmp_path):
    unified = tmp_path / 'unified'
    unified.mkdir()
    (unified / 'cgroup.controllers').write_text('\n')
    proc = proc_with(
        tmp_path, 'none / ext4 rw 0 0\n'
        'none /cg/cpu cgroup rw,cpu,cpuacct 0 0\n'
        f'none {unified} cgroup2 rw 0 0\n',
        '4:cpu,cpuacct:/machine/one\n0::/elsewhere\n')
    mounted = tree.CgroupTree.find(proc)
    assert (str(mounted.root), mounted.version) == ('/cg/cpu', 1)
    assert mounted.group_of(7) == 'machine/one'


def test_a_unified_hierarchy_with_the_cpu_controller_is_found(tmp_path):
    unified = tmp_path / 'unified'
    unified.mkdir()
    (unified / 'cgroup.controllers').write_text('cpuset cpu io\n')
    proc = proc_with(tmp_path, f'none {unified} cgroup2 rw 0 0\n',
                     '0::/machine.slice/one.scope/libvirt\n')
    mounted = tree.CgroupTree.find(proc)
    assert (mounted.root, mounted.version) == (unified, 2)
    assert mounted.group_of(7) == 'machine.slice/one.scope/libvirt'


def test_a_group_that_a_container_has_made_may_have_any_name(tmp_path):
    proc = proc_with(tmp_path, '')
    (proc / '7/cgroup').write_bytes(b'1:cpu:/machine/one/\xff\r2:cpu:\n')
    assert tree.CgroupTree(tmp_path, 1, proc).group_of(7) == 'machine/one/\udcff\r2:cpu:'


def test_a_machine_without_the_cpu_controller_has_no_tree(tmp_path):
    proc = proc_with(tmp_path, 'none / ext4 rw 0 0\n')
    assert tree.CgroupTree.find(proc) is None


def test_a_process_that_has_ended_is_an_error(tmp_path):
    proc = proc_with(tmp_path, '')
    with pytest.raises(ProcessLookupError, match='no process 8'):
        tree.CgroupTree(tmp_path, 1, proc).group_of(8)


def test_a_missing_file_is_an_error_and_not_nothing_to_do(tmp_path):
    (tmp_path / 'machine').mkdir()
    with pytest.raises(errors.MissingControlFileError,
                       match=r'/machine has no file cpu\.rt_runtime_us'):
        tree.CgroupTree(tmp_path, 1).write(
            'machine', 'cpu.rt_runtime_us', '1000')


def test_a_group_that_has_gone_is_distinguished_from_a_missing_file(tmp_path):
    with pytest.raises(errors.MissingControlFileError, match='has gone'):
        tree.CgroupTree(tmp_path, 1).read('machine', 'cpu.rt_runtime_us')


@pytest.mark.parametrize('number', [
    errno.EINVAL, errno.EBUSY, errno.EPERM, errno.EACCES, errno.ENOENT,
    errno.ENODEV, errno.EROFS, errno.ERANGE, errno.ENOMEM, errno.EAGAIN,
    errno.EOPNOTSUPP, errno.EMFILE, errno.ENFILE])
def test_each_refusal_says_what_an_operator_can_do(number):
    refusal = errors.kernel_refusal('one', 'two', '3', number)
    assert f'({errno.errorcode[number]}): ' in str(refusal)
    assert 'see the kernel log' not in str(refusal)


@pytest.mark.parametrize(('method', 'text'), [('read', []), ('write', ['0'])])
def test_a_group_removed_while_its_file_is_open_has_gone(tmp_path, monkeypatch, method, text):
    class Removed(io.BytesIO):

        def read(self):
            raise OSError(errno.ENODEV, 'No such device')

        def write(self, _):
            raise OSError(errno.ENODEV, 'No such device')
    monkeypatch.setattr(tree, 'open', lambda *args, **kwargs: Removed(),
                        raising=False)
    with pytest.raises(errors.MissingControlFileError, match='has gone'):
        getattr(tree.CgroupTree(tmp_path, 1), method)('machine/one', 'cpu.rt_runtime_us', *text)


def test_busy_means_tasks_inside_or_deadlines_beside():
    to_zero = errors.kernel_refusal('one', 'cpu.rt_runtime_us', '0', errno.EBUSY)
    to_more = errors.kernel_refusal(
        'one', 'cpu.rt_runtime_us', '40000', errno.EBUSY)
    assert 'real-time tasks are running in the group' in str(to_zero)
    assert 'SCHED_DEADLINE tasks and servers have taken' in str(to_more)


def test_a_refusal_names_the_file_or_the_group_itself():
    refusals = [errors.kernel_refusal(group, name, 'mkdir', errno.EPERM)
                for group, name in (('one', 'cpu.max'), ('one', ''), ('', 'cpu.max'))]
    assert [str(refusal).split(' (')[0].split(' in ')[1] for refusal in refusals] == [
        '/one/cpu.max', '/one', '/cpu.max']


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
def test_a_group_whose_path_is_too_long_is_passed_over(tmp_path):
    groups, deep = tree.CgroupTree(tmp_path, 2), 'x/' * 2100
    assert not list(groups.children(deep))
    with pytest.raises(errors.MissingControlFileError):
        groups.read(deep, 'cpu.rt.max')


def test_limits_that_a_user_namespace_has_are_taken_back(tmp_path):
    group = tmp_path / 'machine/one'
    group.mkdir(parents=True)
    for name in ('cpu.rt_runtime_us', 'cpu.max', 'cgroup.procs'):
        (group / name).write_text('')
        os.chown(group / name, 1000, 1000)
    os.chown(group, 1000, 1000)
    tree.CgroupTree(tmp_path, 2).own('machine/one')
    assert {path.name: path.stat().st_uid for path in group.iterdir()} == {
        'cpu.rt_runtime_us': 0, 'cpu.max': 0, 'cgroup.procs': 1000}
    assert group.stat().st_uid == 1000


def test_a_group_that_has_gone_has_no_limits_to_take_back(tmp_path):
    tree.CgroupTree(tmp_path, 2).own('machine/one')
