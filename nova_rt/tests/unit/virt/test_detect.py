# SPDX-License-Identifier: Apache-2.0
import errno
import pathlib

import pytest

from nova_rt import bandwidth
from nova_rt import conf
from nova_rt.testing import fake_hcbs
from nova_rt.testing import fake_kernel
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import errors
from nova_rt.virt.cgroup import limits
from nova_rt.virt.cgroup import tree


def test_a_kernel_with_a_runtime_for_each_pcpu_speaks_hcbs_multi():
    kernel = fake_kernel.FakeKernel(count=3, multi=True)
    detected = detect.detect(kernel, 64)
    assert (detected.name, detected.count) == ('hcbs-multi', 3)


def test_a_stock_kernel_speaks_rt_group():
    assert detect.detect(fake_kernel.FakeKernel(), 4).name == 'rt-group'


def test_a_machine_without_the_cpu_controller_speaks_no_dialect():
    assert detect.detect(None, 4) is None


def test_a_kernel_without_real_time_groups_speaks_no_dialect(tmp_path):
    plain = tree.CgroupTree(tmp_path, 1)
    assert detect.detect(plain, 4) is None


def test_the_probe_leaves_no_group(tmp_path):
    detect.detect(tree.CgroupTree(tmp_path, 1), 4)
    assert list(tmp_path.iterdir()) == []


def test_a_controller_that_is_off_is_not_taken_for_a_kernel_without(tmp_path):
    with pytest.raises(errors.MissingControlFileError, match=r'write \+cpu to'):
        detect.detect(tree.CgroupTree(tmp_path, 2), 4)
    assert list(tmp_path.iterdir()) == []


def test_a_tree_that_cannot_be_written_is_an_error_with_advice(
        tmp_path, monkeypatch):
    def refuse(path, **kwargs):
        raise PermissionError(errno.EACCES, 'denied')
    monkeypatch.setattr(pathlib.Path, 'mkdir', refuse)
    with pytest.raises(errors.KernelRefusalError, match='run nova-rt-compute as root'):
        detect.detect(tree.CgroupTree(tmp_path, 1), 4)


@pytest.mark.parametrize(('kernel', 'name', 'cpus'), [
    (fake_hcbs.FakeListKernel(3), 'hcbs-list', 3),
    (fake_hcbs.FakeMaxKernel(3), 'hcbs-max', 64)])
def test_the_dialects_on_version_2_are_distinguished_by_their_files(
        kernel, name, cpus):
    detected = detect.detect(kernel, 64)
    assert (detected.name, detected.count) == (name, cpus)
    assert list(kernel.children('')) == []


@pytest.mark.parametrize(('kernel', 'name'), [
    (fake_hcbs.FakeMultiKernel(3), 'hcbs-multi'), (fake_hcbs.FakeListKernel(3), 'hcbs-list'),
    (fake_hcbs.FakeMaxKernel(3), 'hcbs-max')])
def test_a_dialect_that_is_named_is_spoken(kernel, name):
    assert detect.detect(kernel, 3, name).name == name


# A stock kernel has files of the names that hcbs-list has on version 2.
@pytest.mark.parametrize(('kernel', 'name'), [
    (fake_hcbs.FakeMaxKernel(3), 'hcbs-multi'), (fake_hcbs.FakeListKernel(3), 'hcbs-max'),
    (fake_kernel.FakeKernel(), 'hcbs-list')])
def test_a_dialect_that_is_named_and_not_spoken_is_an_error_with_advice(kernel, name):
    with pytest.raises(errors.UnspokenError, match=f'control files of {name}.*unset that option'):
        detect.detect(kernel, 3, name)
    assert list(kernel.children('')) == []


def test_every_dialect_of_hcbs_can_be_named():
    option, = [each for each in conf.COMPUTE_OPTS if each.name == 'dialect']
    assert list(option.type.choices) == [
        each.name for each in detect.DIALECTS if each.name != 'rt-group']


def test_a_fake_kernel_is_not_set_as_this_machine_is():
    kernel = fake_kernel.FakeKernel()
    assert kernel.proc != pathlib.Path('/proc')
    assert limits.global_limit(kernel.proc) == bandwidth.to_bandwidth(*fake_kernel.ROOT_LIMIT)
