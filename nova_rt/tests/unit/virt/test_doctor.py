# SPDX-License-Identifier: Apache-2.0
import errno
import io
import json

from oslo_config import cfg
import pytest

from nova_rt import bandwidth
from nova_rt import conf
from nova_rt.cmd import manage_host
from nova_rt.testing import fake_hcbs
from nova_rt.testing import fake_kernel
from nova_rt.testing import fake_proc
from nova_rt.virt import container_groups
from nova_rt.virt import this_host
from nova_rt.virt.cgroup import budget
from nova_rt.virt.cgroup import detect
from nova_rt.virt.cgroup import hierarchy
from nova_rt.virt.cgroup import tree
from nova_rt.virt.cgroup.doctor import examination
from nova_rt.virt.cgroup.doctor import finding
from nova_rt.virt.cgroup.doctor import machine

CPUS = frozenset(range(4))
CAP = bandwidth.fraction_to_bandwidth(0.9)


@pytest.fixture
def proc(tmp_path):
    """What procfs says of a machine as it is after boot."""
    path = tmp_path / 'proc'
    (path / 'self').mkdir(parents=True)
    (path / 'self/mounts').write_text('none /cg/cpu cgroup rw,cpu 0 0\n')
    return fake_proc.write(path)


@pytest.fixture
def debugfs(tmp_path):
    """A fair server as it is after boot."""
    server = tmp_path / 'debug/sched/fair_server/cpu0'
    server.mkdir(parents=True)
    (server / 'runtime').write_text('50000000\n')
    (server / 'period').write_text('1000000000\n')
    return tmp_path / 'debug'


def examine(kernel, debugfs, online=CPUS, cap=CAP):
    return examination.examine(machine.Machine(
        kernel, CPUS, online, cap, container_groups.MACHINE_GROUPS, debugfs))


def sentences(findings, verdict):
    """Return what was found and what to do, by check."""
    return {row.check: f'{row.found}: {row.advice}' for row in findings
            if row.verdict == verdict}


@pytest.mark.parametrize('make', [
    fake_kernel.FakeKernel, fake_hcbs.FakeListKernel,
    fake_hcbs.FakeMaxKernel])
def test_a_healthy_host_is_reported_so_and_left_as_it_was(
        make, proc, debugfs):
    kernel = make(proc=proc)
    findings = examine(kernel, debugfs)
    assert {row.verdict for row in findings} == {finding.OK}
    assert findings[0].check == 'dialect'
    assert list(kernel.children('')) == []


def test_a_kernel_without_groups_is_wrong(tmp_path, proc):
    plain = tree.CgroupTree(tmp_path / 'cg', 1, proc)
    plain.root.mkdir()
    wrong = sentences(examine(plain, tmp_path), finding.WRONG)
    assert 'boot a kernel with HCBS or CONFIG_RT_GROUP_SCHED' in (
        wrong['dialect'])
    assert list(plain.root.iterdir()) == []


def test_a_dialect_that_the_options_name_and_the_kernel_lacks_is_wrong(proc, debugfs):
    wrong = sentences(examination.examine(machine.Machine(
        fake_hcbs.FakeListKernel(proc=proc), CPUS, CPUS, CAP,
        container_groups.MACHINE_GROUPS, debugfs, 'hcbs-max')), finding.WRONG)
    assert 'hcbs-max' in wrong['dialect']
    assert 'unset that option' in wrong['dialect']


def test_a_machine_without_the_controller_is_wrong(tmp_path):
    wrong = sentences(examine(None, tmp_path), finding.WRONG)
    assert set(wrong) == {'dialect', 'cgroup layout'}


def test_a_limit_of_minus_1_on_a_stock_kernel_is_wrong(proc, debugfs):
    fake_proc.write(proc, sched_rt_runtime_us=-1)
    wrong = sentences(examine(fake_kernel.FakeKernel(proc=proc), debugfs),
                 finding.WRONG)
    assert 'set it to 950000' in wrong['sysctl']


def test_a_cap_that_the_kernel_does_not_admit_is_a_warning(proc, debugfs):
    kernel = fake_kernel.FakeKernel(multi=True, proc=proc)
    warned = sentences(examine(kernel, debugfs, cap=bandwidth.BW_UNIT),
                  finding.WARNING)
    assert 'less than [rt] cap, 100%' in warned['sysctl']
    assert 'the fair and ext servers in' in warned['sysctl']


def test_kernel_servers_that_cannot_be_seen_is_a_warning(proc, tmp_path):
    kernel = fake_kernel.FakeKernel(multi=True, proc=proc)
    warned = sentences(examine(kernel, tmp_path / 'nothing'), finding.WARNING)
    assert 'mount -t debugfs' in warned['kernel servers']


@pytest.mark.parametrize('make', [
    fake_hcbs.FakeListKernel, fake_hcbs.FakeMaxKernel])
def test_a_root_group_at_0_is_wrong(make, proc, debugfs):
    kernel = make(proc=proc)
    kernel._groups[''].runtimes_us = [0] * 4
    wrong = sentences(examine(kernel, debugfs), finding.WRONG)
    assert 'the root group is at 0' in wrong['ancestors'].lower()
    assert '900000' in wrong['sysctl']


def test_another_group_s_budget_is_a_warning_that_names_it(proc, debugfs):
    kernel = fake_kernel.FakeKernel(multi=True, proc=proc)
    kernel.start(7, 'jack')
    detect.detect(kernel, 4).write(
        'jack', budget.Budget(100_000, (0, 30_000, 0, 0)))
    warned = sentences(examine(kernel, debugfs), finding.WARNING)
    assert '/jack holds 30% of pCPU 1' in warned['foreign budget']
    assert 'write 0 to its cpu.rt_multi_runtime_us' in (
        warned['foreign budget'])


def test_nothing_left_at_the_root_is_wrong(proc, debugfs):
    kernel = fake_kernel.FakeKernel(proc=proc)
    kernel.start(7, 'jack')
    detect.detect(kernel, 4).write('jack', budget.Budget(
        1_000_000, (950_000,) * 4))
    wrong = sentences(examine(kernel, debugfs), finding.WRONG)
    assert 'look which other groups hold' in wrong['ancestors']


def test_what_no_container_needs_any_more_is_a_warning(proc, debugfs):
    kernel = fake_kernel.FakeKernel(proc=proc)
    kernel.start(7, 'machine/one')
    detect.detect(kernel, 4).write('machine', budget.Budget(
        1_000_000, (100_000,) * 4))
    warned = sentences(examine(kernel, debugfs), finding.WARNING)
    assert '/machine holds 10% of every pCPU' in warned['ancestors']
    assert 'see that nova-rt-compute runs' in warned['ancestors']


def test_where_a_runtime_is_one_for_all_pcpus_each_needs_what_the_fullest_does(proc, debugfs):
    kernel = fake_hcbs.FakeCpusetKernel(proc=proc)
    kernel.start(7, 'machine/one')
    kernel.write('machine/one', fake_hcbs.CPUS, '0')
    groups = hierarchy.Hierarchy(detect.detect(kernel, 4))
    groups.close('machine')
    groups.apply('machine/one', budget.Budget(100_000, (30_000, 0, 0, 0)))
    assert 'ancestors' not in sentences(examine(kernel, debugfs), finding.WARNING)


def test_a_container_that_waits_below_a_group_at_0_is_wrong(proc, debugfs):
    kernel = fake_kernel.FakeKernel(proc=proc)
    kernel.start(7, 'machine/one')
    (proc / '7').mkdir()
    (proc / '7/comm').write_text('.nova-rt-init\n')
    (proc / '7/cmdline').write_bytes(b'/.nova-rt-init\0')
    (proc / '7/task').mkdir()
    (proc / '6').mkdir()
    (proc / '6/comm').write_bytes(b'no UTF-8: \xff\n')
    wrong = sentences(examine(kernel, debugfs), finding.WRONG)
    assert 'the container in /machine/one waits' in wrong['ancestors']
    assert '/machine is at 0: see that nova-rt-compute runs' in (
        wrong['ancestors'])


def test_both_versions_of_control_groups_at_once_are_a_warning(proc, debugfs):
    mounts = proc / 'self/mounts'
    mounts.write_text(mounts.read_text() + 'none /cg/unified cgroup2 rw 0 0\n')
    warned = sentences(examine(fake_kernel.FakeKernel(proc=proc), debugfs),
                  finding.WARNING)
    assert 'unmount /cg/unified' in warned['cgroup layout']


def test_a_controller_that_is_off_for_containers_is_wrong(tmp_path, proc):
    unified = tree.CgroupTree(tmp_path / 'cg', 2, proc)
    (unified.root / 'machine.slice').mkdir(parents=True)
    wrong = sentences(examine(unified, tmp_path), finding.WRONG)
    assert 'off in /machine.slice' in wrong['cgroup layout']
    assert 'write +cpu to' in wrong['dialect']


def test_cpus_that_are_offline_are_a_warning(proc, debugfs):
    warned = sentences(examine(fake_kernel.FakeKernel(proc=proc), debugfs,
                          online=frozenset({0, 2})), finding.WARNING)
    assert '2 of 4 are online; 1, 3 can hold nothing' in warned['pCPUs']


def test_a_user_who_may_not_write_is_advised(proc, debugfs, monkeypatch):
    kernel = fake_kernel.FakeKernel(proc=proc)
    kernel.refuse_next = errno.EACCES
    wrong = sentences(examine(kernel, debugfs), finding.WRONG)
    assert 'run nova-rt-compute as root' in wrong['dialect']


def test_options_that_make_no_sense_here_are_wrong():
    options = cfg.ConfigOpts()
    options([])
    conf.register_opts(options)
    options.set_override('cpu_set', '4095', group='rt')
    options.set_override('hcbs_scheduler_available', False, group='rt')
    findings = this_host.examine(options)
    assert 'not online' in sentences(findings, finding.WRONG)['options']
    assert 'offers no reservations' in sentences(
        findings, finding.WARNING)['options']


@pytest.mark.parametrize(('verdict', 'status'), [
    (finding.OK, 0), (finding.WARNING, 0), (finding.WRONG, 1)])
def test_the_exit_status_is_1_if_something_is_wrong(
        monkeypatch, verdict, status):
    monkeypatch.setattr(this_host, 'examine', lambda options: [
        finding.Finding('pCPUs', verdict, 'so', 'do')])
    command = manage_host.Probe(None, None)
    command.app = type('App', (), {'stdout': io.StringIO()})
    parsed = command.get_parser('probe').parse_args(['-f', 'json'])
    assert command.run(parsed) == status
    assert json.loads(command.app.stdout.getvalue()) == [
        {'check': 'pCPUs', 'verdict': verdict, 'found': 'so', 'advice': 'do'}]
